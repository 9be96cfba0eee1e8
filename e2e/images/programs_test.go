package images

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDockerfile_linksAsTheImagesOfTheTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{staticTags, `"` + staticLdflags + `"`} {
		if !strings.Contains(string(text), flag) {
			t.Errorf("the Dockerfile builds without %s", flag)
		}
	}
}
