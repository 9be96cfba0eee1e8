package operator

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAudit_countsEachRequestOnce(t *testing.T) {
	a := &audit{path: filepath.Join(t.TempDir(), "audit.log")}
	write := func(text string) {
		f, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want Requests, writes int) {
		t.Helper()
		got, err := a.take()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
		if got.Writes() != writes {
			t.Errorf("%d writes, want %d", got.Writes(), writes)
		}
	}
	write(`{"stage":"ResponseStarted","verb":"watch","objectRef":{"resource":"pods"}}
{"stage":"ResponseComplete","verb":"patch","objectRef":{"resource":"htapclusters","subresource":"status"}}
{"stage":"ResponseComplete","verb":"update","objectRef":{"resource":"leases","namespace":"freshet"}}
{"stage":"ResponseComplete","verb":"get"}
{"stage":"ResponseComplete","verb":"get","objectRef":{"res`)
	expect(Requests{"watch pods": 1, "patch htapclusters/status": 1, "update leases (leader election)": 1, "get (discovery)": 1}, 1)
	write(`ource":"secrets"}}
{"stage":"ResponseComplete","verb":"watch","objectRef":{"resource":"pods"}}
`)
	expect(Requests{"get secrets": 1}, 0)
}
