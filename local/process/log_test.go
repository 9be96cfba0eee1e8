package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLastLines_keepsWholeLinesThatFit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	long := strings.Repeat("x", 50)
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{"one\ntwo\n", "one\ntwo"},
		{long + "\nthree\nfour\n", "three\nfour"},
		{long + "\n\nthree\n\n", "three"},
		{"one\n" + long + "\n", long[:19]}, // a line that does not fit shows its end
	} {
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := LastLines(path, 20); got != tc.want {
			t.Errorf("%q ends with %q, want %q", tc.text, got, tc.want)
		}
	}
	if got := LastLines(path+".none", 20); !strings.Contains(got, "no such file") {
		t.Errorf("a file that is not there: %q", got)
	}
}
