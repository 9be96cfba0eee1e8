package v1alpha1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSamples_areValid(t *testing.T) {
	def := loadCRD(t, "freshet.io_htapclusters.yaml")
	files, err := filepath.Glob("../../../manifests/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d samples, error %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		clusters := 0
		for document := range strings.SplitSeq(string(b), "\n---\n") {
			if strings.Contains(document, "kind: HTAPCluster\n") {
				clusters++
				if errs := def.validate(t, def.object(t, document), nil); len(errs) > 0 {
					t.Errorf("%s: %v", file, errs)
				}
			}
		}
		if clusters != 1 {
			t.Errorf("%s has %d HTAPClusters, want one", file, clusters)
		}
	}
}
