package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/freshet-io/freshet/operator/kubectl"
)

func TestCommand_isAPluginByItsName(t *testing.T) {
	for program, want := range map[string][]string{
		"/usr/bin/kubectl-freshet": {"bench", "completion", "connect", "explain", "lag", "status"},
		"kubectl-freshet.exe":      {"bench", "completion", "connect", "explain", "lag", "status"},
		"bin/freshet":              {"bench", "completion", "demo", "gateway", "kubectl", "local"},
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
	for _, args := range [][]string{
		{"freshet", "stauts"}, {"freshet", "local", "stauts"}, {"freshet", "bench", "stauts"}, {"freshet", "kubectl", "stauts"}, {"freshet", "completion", "stauts"},
		{"kubectl-freshet", "stauts"}, {"kubectl-freshet", "completion", "stauts"},
	} {
		program, args := args[0], args[1:]
		cmd := command(program)
		cmd.SetOut(io.Discard)
		cmd.SetArgs(args)
		if err := cmd.Execute(); err == nil || !strings.Contains(err.Error(), `unknown command "stauts"`) {
			t.Errorf("%s %s: %v", program, strings.Join(args, " "), err)
		}
		cmd.SetArgs(args[:len(args)-1])
		if err := cmd.Execute(); err != nil {
			t.Errorf("%s %s, which shows the help: %v", program, strings.Join(args[:len(args)-1], " "), err)
		}
	}
}

func TestExitCode_isThatOfAProgramThatWasRun(t *testing.T) {
	for want, err := range map[int]error{3: fmt.Errorf("connect: %w", &kubectl.ProgramError{Program: "psql", Code: 3}), 1: errors.New("broken")} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}
