package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
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
