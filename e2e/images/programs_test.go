package images

import (
	"os"
	"path/filepath"
	"slices"
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

func TestDockerfile_isGivenAllThatTheProgramsAreBuiltFrom(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	given := strings.Fields(string(text))
	list, err := goTool(t.Context(), nil, "list", "-deps", "-f", "{{with .Module}}{{if .Main}}{{$.ImportPath}}{{end}}{{end}}",
		module+"/cli/freshet", module+"/cli/freshet-operator")
	if err != nil {
		t.Fatal(err)
	}
	packages := strings.Fields(list)
	if len(packages) < 10 {
		t.Fatalf("found %d packages: is the test blind?", len(packages))
	}
	for _, p := range packages {
		folder, _, _ := strings.Cut(strings.TrimPrefix(p, module+"/"), "/")
		if !slices.Contains(given, "!"+folder) {
			t.Errorf("package %s is kept from Docker by .dockerignore", p)
		}
	}
}
