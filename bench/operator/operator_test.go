//go:build kubernetes

package operator

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/toolchain"
)

func TestRun_measuresEveryPhase(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	dir := stand.Dir(t)
	program := filepath.Join(dir, "freshet-operator")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", program, "../../cli/freshet-operator").CombinedOutput(); err != nil {
		t.Fatalf("build the operator: %v\n%s", err, out)
	}
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	postgres, err := cache.Postgres(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(ctx, Options{
		Programs: os.Getenv("KUBEBUILDER_ASSETS"), Helm: os.Getenv("FRESHET_HELM"), Chart: "../../charts/freshet", Operator: program, Postgres: postgres,
		Dir: dir, Clusters: 3, Namespaces: 2, Units: 2, Nodes: 10, Steady: time.Second, Progress: func(step string) { t.Log(step) },
	})
	if err != nil {
		t.Fatal(err)
	}
	d := r.Data.(*Result)
	if statefulSets := d.Converge.Requests["patch statefulsets"]; statefulSets < 3 {
		t.Errorf("%d StatefulSets were applied for 3 clusters: %v", statefulSets, d.Converge.Requests)
	}
	for _, p := range []Phase{d.Restart, d.Crash} {
		if p.Requests["watch htapclusters"] != 1 || p.Sessions < 3 || p.Memory.Peak == 0 || p.CPUSeconds == 0 {
			t.Errorf("a new operator was not measured: %+v", p)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "freshet-bench-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
