package postgres_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/freshet-io/freshet/connectors/postgres"
)

// placed collects what a source gives to PlaceSender.
type placed struct {
	mu   sync.Mutex
	pids []int
	err  error // to be returned
}

func (p *placed) place(pid int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pids = append(p.pids, pid)
	return p.err
}

func (p *placed) all() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.pids)
}

func TestSource_tellsWhichServerProcessesWorkForIt(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		err    error
		local  bool // by the socket in the file system
		warned string
	}{
		{name: "by a socket", local: true},
		{name: "by a socket, where they cannot be moved", local: true, err: errors.New("not permitted"), warned: "not permitted"},
		{name: "by TCP", warned: "not reached by a socket"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &placed{err: tc.err}
			var log strings.Builder
			b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
			if local := b.server.LocalURL("postgres"); tc.local && local == b.url {
				t.Fatalf("the server has no socket in the file system")
			}
			b.source = b.newSource(func(c *postgres.Config) {
				if tc.local {
					c.URL = b.server.LocalURL("postgres")
				}
				c.PlaceSender = p.place
				c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			})
			b.follow()
			b.same() // copied
			b.exec("INSERT INTO t VALUES (2)")
			b.same() // streamed
			slot, err := b.source.SlotStatus(t.Context())
			if err != nil || slot.ActivePID == 0 {
				t.Fatalf("nobody streams: %+v, %v", slot, err)
			}
			streams, pids := slot.ActivePID, p.all()
			b.stop() // nobody writes the log any more
			switch {
			case !tc.local && len(pids) > 0:
				t.Errorf("processes %v, though the server may be anywhere", pids)
			case tc.local && !slices.Contains(pids, streams):
				t.Errorf("processes %v, not %d, which streams", pids, streams)
			case tc.local && len(pids) < 2:
				t.Errorf("processes %v, not the one that copied", pids)
			}
			if got := log.String(); (tc.warned != "") != strings.Contains(got, "stays where the server put it") || !strings.Contains(got, tc.warned) {
				t.Errorf("logged, instead of a warning with %q:\n%s", tc.warned, got)
			}
		})
	}
}
