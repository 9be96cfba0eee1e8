package kubectl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable_colorsWholeLinesWhereItMay(t *testing.T) {
	for _, c := range []struct {
		name string
		on   bool
		want string
	}{
		{"on a terminal", true, "\nUNIT      PHASE\n\x1b[32mone       Fresh\x1b[0m\n\x1b[31mtwo a b   Stopped\x1b[0m\n"},
		{"elsewhere", false, "\nUNIT      PHASE\none       Fresh\ntwo a b   Stopped\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := newTable(painter{on: c.on}, "UNIT", "PHASE")
			table.add(good, "one", "Fresh")
			table.add(bad, "two\ta\nb", "Stopped")
			var out strings.Builder
			if err := table.write(&out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTable_withoutRowsIsNotWritten(t *testing.T) {
	var out strings.Builder
	if err := newTable(painter{}, "UNIT").write(&out); err != nil || out.Len() > 0 {
		t.Errorf("%v, %q", err, out.String())
	}
}

func TestSize_isForPeople(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 20: "3.0 MiB", 5 << 40: "5.0 TiB", 5 << 50: "5120.0 TiB"} {
		if got := size(&bytes); got != want {
			t.Errorf("%d is %q, want %q", bytes, got, want)
		}
	}
	if got := size(nil); got != "-" {
		t.Errorf("an unknown size is %q", got)
	}
}
