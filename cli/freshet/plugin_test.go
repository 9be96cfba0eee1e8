package main

import (
	"io"
	"slices"
	"strings"
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

func TestCommand_refusesSubcommandsThatItDoesNotHave(t *testing.T) {
	for _, args := range [][]string{{"stauts"}, {"local", "stauts"}, {"bench", "stauts"}, {"kubectl", "stauts"}} {
		cmd := command("freshet")
		cmd.SetOut(io.Discard)
		cmd.SetArgs(args)
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), `unknown command "stauts"`) {
			t.Errorf("freshet %s: %v", strings.Join(args, " "), err)
		}
		cmd.SetArgs(args[:len(args)-1])
		if err := cmd.Execute(); err != nil {
			t.Errorf("freshet %s, which shows the help: %v", strings.Join(args[:len(args)-1], " "), err)
		}
	}
}
