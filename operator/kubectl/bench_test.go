package kubectl

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

func TestBench_keepsEarlierResultsUntilThereAreOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(path, []byte("earlier results"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := NewCommand()
	cmd.SetOut(io.Discard)
	cmd.SetArgs([]string{"bench", "shop", "--kubeconfig=/nowhere/kubeconfig", "--json=" + path})
	if err := cmd.Execute(); err == nil {
		t.Error("bench without a cluster succeeded")
	}
	if b, err := os.ReadFile(path); string(b) != "earlier results" {
		t.Errorf("after a bench that failed the file holds %q (%v)", b, err)
	}
}

func TestStatus_takesANameOrAllNamespaces(t *testing.T) {
	cmd := NewCommand()
	cmd.SetArgs([]string{"status", "shop", "-A", "--kubeconfig=/nowhere/kubeconfig"})
	if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), "give its name, or --all-namespaces") {
		t.Errorf("a name in all namespaces: %v", err)
	}
}

func TestConnect_tellsWhatPsqlEndedWith(t *testing.T) {
	p := &plugin{run: func(*exec.Cmd) error { return exec.Command("sh", "-c", "exit 3").Run() }}
	err := p.connect(&endpoint{host: "shop.default.svc", addr: "127.0.0.1:1"}, "psql", nil)
	if ended, ok := errors.AsType[*ProgramError](err); !ok || ended.Code != 3 || ended.Program != "psql" {
		t.Errorf("psql ended with 3, and connect with %v", err)
	}
}
