package kubectl

import (
	"io"
	"strings"
	"testing"
)

func TestBench_refusesWhatCannotBeBeforeItAsksTheCluster(t *testing.T) {
	for flag, want := range map[string]string{
		"--load=-1": "-1 warehouses", "--duration=0s": "must be positive", "--warmup=-1s": "not be negative", "--terminals=-1": "-1 transactional",
		"--analysts=-1": "-1 analytical", "--queries=tpch": "tpch", "--json=/nowhere/r.json": "/nowhere",
	} {
		cmd := NewCommand()
		cmd.SetOut(io.Discard)
		cmd.SetArgs([]string{"bench", "shop", "--kubeconfig=/nowhere/kubeconfig", flag})
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "kubeconfig") {
			t.Errorf("bench %s: %v, want an error with %q", flag, err, want)
		}
	}
}
