package kubectl

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/freshet-io/freshet/bench/report"
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

func TestBench_failsWhereATargetWasMissed(t *testing.T) {
	var out bytes.Buffer
	p := &plugin{out: &out}
	var r report.Report
	r.AtMost("violations", 0, 0, "%.0f")
	written := 0
	write := func(*report.Report) error { written++; return nil }
	if err := p.conclude(&r, write); err != nil {
		t.Errorf("all targets are met: %v", err)
	}
	r.AtMost("answers different", 2, 0, "%.0f")
	if err := p.conclude(&r, write); err == nil || !strings.Contains(err.Error(), "answers different: 2, target ≤ 0") {
		t.Errorf("a target is missed: %v", err)
	}
	if written != 2 || !strings.Contains(out.String(), "answers different") {
		t.Errorf("results were written %d times; the text is\n%s", written, out.String())
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
