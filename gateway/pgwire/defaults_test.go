package pgwire_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// What PostgreSQL was told as a default may come back as a value of the session's own: from a client that restores what it was shown, or where the
// gateway cannot tell any more.
func TestSettings_readTheDefaultsThatAreShown(t *testing.T) {
	for bound, shown := range map[time.Duration]string{
		0: "0", time.Second: "1s", 90 * time.Second: "90s", time.Minute: "1min", 36 * time.Hour: "36h", 1500 * time.Microsecond: "1500us",
		100 * 24 * time.Hour: "2147483647ms", // the longest that can be set
	} {
		b := newBed(t, func(cfg *pgwire.Config) { cfg.Defaults = &pgwire.Settings{MaxStaleness: bound} })
		c := connect(t, b.through)
		if got := run(t, c, "SHOW freshet.max_staleness")[0][0]; got != shown {
			t.Errorf("a default of %v is shown as %q, want %q", bound, got, shown)
		}
		want := pgwire.Settings{MaxStaleness: min(bound, (1<<31-1)*time.Millisecond)}
		run(t, c, "SELECT set_config('work_mem', '8MB', false)") // it may have set others
		if d := cmp.Diff(want, b.settingsNow(t, c)); d != "" {
			t.Errorf("a default of %v that may be the session's own (-want +got):\n%s", bound, d)
		}
		run(t, c, "SET freshet.max_staleness = '"+shown+"'")
		if d := cmp.Diff(want, b.settingsNow(t, c)); d != "" {
			t.Errorf("a default of %v that was set again (-want +got):\n%s", bound, d)
		}
	}
}
