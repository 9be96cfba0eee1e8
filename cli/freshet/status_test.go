package main

import (
	"strings"
	"testing"

	"github.com/freshet-io/freshet/local/platform"
)

func TestStatus_saysWhatIsKnownOfTheSnapshot(t *testing.T) {
	for _, tc := range []struct {
		name   string
		report platform.Report
		want   string
	}{
		{"running", platform.Report{State: platform.State{Phase: platform.Running}, Replica: &platform.Replica{Position: "0/16", StalenessMS: 41.2}}, "0/16, 41 ms old"},
		{"still copying", platform.Report{State: platform.State{Phase: platform.Running}, Replica: &platform.Replica{StalenessMS: -1}}, "none yet"},
		{"a gateway that hangs", platform.Report{State: platform.State{Phase: platform.Running}}, "the gateway does not answer"},
		{"down", platform.Report{State: platform.State{Phase: platform.Stopped}}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			if err := printStatus(&out, tc.report); err != nil {
				t.Fatal(err)
			}
			if _, got, _ := strings.Cut(out.String(), "snapshot"); !strings.Contains(got, tc.want) || got != "" && tc.want == "" {
				t.Errorf("status says %q of the snapshot, want %q", got, tc.want)
			}
		})
	}
}
