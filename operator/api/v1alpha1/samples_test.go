package v1alpha1_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestSamples_areValid(t *testing.T) {
	kinds := map[string]crd{
		"HTAPCluster": loadCRD(t, "freshet.io_htapclusters.yaml"), "HTAPNodePool": loadCRD(t, "freshet.io_htapnodepools.yaml"),
		"HTAPTenant": loadCRD(t, "freshet.io_htaptenants.yaml"),
	}
	files, err := filepath.Glob("../../../manifests/samples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d samples, error %v", len(files), err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]int{}
		for document := range strings.SplitSeq(string(b), "\n---\n") {
			var object struct{ Kind string }
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			def, ok := kinds[object.Kind]
			if !ok {
				continue
			}
			seen[object.Kind]++
			if errs := def.validate(t, def.object(t, document), nil); len(errs) > 0 {
				t.Errorf("%s: %v", file, errs)
			}
		}
		if seen["HTAPCluster"] != 1 && seen["HTAPTenant"] == 0 {
			t.Errorf("%s has %v, want one HTAPCluster, or tenants", file, seen)
		}
	}
}
