package pgserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogEnd_hasTheReasonHoweverMuchFollowsIt(t *testing.T) {
	t.Parallel()
	const (
		begin   = "2026-01-02 03:04:05.006 UTC [7] LOG:  starting PostgreSQL 18.4\n"
		full    = `2026-01-02 03:04:05.007 UTC [8] FATAL:  could not extend file "base/5/16384": No space left on device`
		waiting = "2026-01-02 03:04:05.008 UTC [9] FATAL:  the database system is starting up\n"
		broken  = "2026-01-02 03:04:05.009 UTC [8] PANIC:  could not locate a valid checkpoint record"
		last    = "2026-01-02 03:04:05.010 UTC [7] LOG:  database system is shut down"
	)
	context := "2026-01-02 03:04:05.007 UTC [8] CONTEXT:  WAL redo at 0/1 for " + strings.Repeat("x", 2000) + "\n"
	for _, tc := range []struct{ name, before, log, want string }{
		{"near the end", "", begin + full + "\n" + last + "\n", begin + full + "\n" + last},
		{"far above", "", begin + full + "\n" + context + last + "\n", full + "\n…\n" + last},
		{"the last one", "", begin + full + "\n" + broken + "\n" + context + last + "\n", broken + "\n…\n" + last},
		{"clients that wait", "", begin + full + "\n" + waiting + context + last + "\n", full + "\n…\n" + last},
		{"the first of this start", full + "\n", broken + "\n" + context + last + "\n", broken + "\n…\n" + last},
		{"of an earlier start", full + "\n", begin + context + last + "\n", last},
		{"none", "", begin + context + last + "\n", last},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(tc.before+tc.log), 0o600); err != nil {
			t.Fatal(err)
		}
		s := &Server{cfg: Config{LogFile: path}, logged: int64(len(tc.before))}
		if diff := cmp.Diff(tc.want, s.logEnd()); diff != "" {
			t.Errorf("%s: %s", tc.name, diff)
		}
	}
}
