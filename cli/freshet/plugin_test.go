package main

import (
	"slices"
	"testing"
)

func TestCommand_isAPluginByItsName(t *testing.T) {
	for program, want := range map[string][]string{
		"/usr/bin/kubectl-freshet": {"bench", "connect", "explain", "lag", "status"},
		"kubectl-freshet.exe":      {"bench", "connect", "explain", "lag", "status"},
		"bin/freshet":              {"bench", "demo", "gateway", "kubectl", "local"},
	} {
		var got []string
		for _, c := range command(program).Commands() {
			got = append(got, c.Name())
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", program, got, want)
		}
	}
}
