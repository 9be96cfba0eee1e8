package kafka

import (
	"testing"
)

func TestJavaMajor_readsWhatVirtualMachinesPrint(t *testing.T) {
	for output, want := range map[string]int{
		"openjdk 17.0.15 2025-04-15\nOpenJDK Runtime Environment (build 17.0.15+6-Debian-1deb12u1)": 17,
		"java 21 2023-09-19 LTS":     21,
		"Unrecognized option":        0,
		"":                           0,
		"openjdk 25-ea 2025-09-16\n": 25,
	} {
		if got := javaMajor(output); got != want {
			t.Errorf("%q: got %d, want %d", output, got, want)
		}
	}
}
