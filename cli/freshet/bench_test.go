package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/freshet-io/freshet/bench/report"
)

func TestBenchmarks_areDocumented(t *testing.T) {
	for file, where := range map[string]string{
		"../../README.md":          `(?m)^.*freshet bench .*$`,
		"../../docs/benchmarks.md": "`freshet bench [^`]*`",
		"../../Makefile":           `(?m)^\t@for b in .*; do`, // those that need no Kafka
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(regexp.MustCompile(where).FindAllString(string(text), -1), "\n")
		for _, b := range benchmarks {
			if b.name == "kafka" && strings.HasSuffix(file, "Makefile") {
				continue
			}
			if !regexp.MustCompile(`\b` + b.name + `\b`).MatchString(said) {
				t.Errorf("%s does not name the benchmark %q where it lists them", file, b.name)
			}
		}
	}
}

func TestBenchClients_failWhereATargetWasMissed(t *testing.T) {
	var text bytes.Buffer
	r := &report.Report{}
	r.AtMost("violations", 1, 0, "%.0f")
	if err := (&outputs{}).conclude(r, &text); err == nil || !strings.Contains(err.Error(), "bench clients: 1 of 1 targets were missed: violations: 1, target ≤ 0") {
		t.Errorf("a target is missed: %v", err)
	}
	if !strings.Contains(text.String(), "violations") {
		t.Errorf("the results are not written:\n%s", text.String())
	}
}
