package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
)

var _ cdc.Bookmarker = (*Source)(nil)

// errSuperseded ends a stream from a server that another one has taken the place of.
var errSuperseded = errors.New("another server has taken this one's place")

// lineage is the timeline of the log that the replica's state is on. A server that is promoted, or restored from a backup, begins a timeline
// of its own, whose positions mean other changes than those which its parent's log had after that point. The system's identifier stays.
type lineage struct {
	mu       sync.Mutex
	timeline uint64 // 0: not known yet
	// started is the server's, since its log was found to have what was told (see [cdc.Log]); empty: none was.
	started string
	reached uint64 // the last position that was told on it
	// since is where the stream began: later transactions with rows are marked, earlier ones are in the copies; 0: not known.
	since   uint64
	commits commitMarks
	// start is the one of the server that has all that was told, for who does not read the log itself; stepped is that of a server on another timeline,
	// whose history has shown it.
	start   start
	stepped string
}

// bookmark is what a consumer keeps of a lineage, as JSON.
type bookmark struct {
	Timeline uint64 `json:"timeline"`
	Reached  uint64 `json:"reached"`
	// Since is where the stream began; 0 in bookmarks of versions that did not mark every transaction.
	Since uint64 `json:"since,omitzero"`
	// Commit is the last transaction with rows that the consumer's state has, if it was told since the copies.
	Commit commitMark `json:"commit,omitzero"`
	start
}

// tell notes that what a server has up to a position is about to be told. It reports false if another timeline is followed by now.
func (l *lineage) tell(timeline, position uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timeline != timeline {
		return false
	}
	l.reached = max(l.reached, position)
	return true
}

// told notes a transaction with rows that is about to be handed over.
func (l *lineage) told(mark commitMark) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits.add(mark)
}

// confirmed forgets transactions that no bookmark needs any more.
func (l *lineage) confirmed(position uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits.forget(position)
}

// beginAt notes that a stream begins at a position. It returns the last transaction that is marked up to there, and the position after which none
// with rows is up to there; 0: not known.
func (l *lineage) beginAt(position uint64) (last commitMark, quiet uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since == 0 {
		l.since = position
	}
	if last = l.commits.until(position); last.Thinned {
		return last, 0
	}
	return last, max(last.Position, l.since)
}

// shown notes that a server's log was found to have what was told.
func (l *lineage) shown(started string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = started
}

// Bookmark implements [cdc.Bookmarker].
func (s *Source) Bookmark(p cdc.Position) []byte {
	s.lineage.mu.Lock()
	defer s.lineage.mu.Unlock()
	if s.lineage.timeline == 0 {
		return nil
	}
	l := &s.lineage
	data, err := json.Marshal(bookmark{l.timeline, l.reached, l.since, l.commits.until(p.Major), l.start})
	if err != nil { // numbers and texts always encode
		s.log.Warn("bookmark cannot be encoded", "error", err)
	}
	return data
}

// Restore implements [cdc.Bookmarker].
func (s *Source) Restore(data []byte) error {
	if data == nil {
		s.outset.Store(anew)
	} else {
		s.outset.Store(onward)
	}
	return s.lineage.restore(data)
}

// restore takes over what a bookmark says. Which server that there is now has all of it is to be found out.
func (l *lineage) restore(data []byte) error {
	var b bookmark
	if data != nil {
		if err := json.Unmarshal(data, &b); err != nil {
			return fmt.Errorf("decode bookmark: %w", err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timeline, l.started, l.reached, l.since, l.commits, l.start, l.stepped = b.Timeline, "", b.Reached, b.Since, nil, b.start, ""
	if b.Commit != (commitMark{}) {
		l.commits.add(b.Commit)
	}
	return nil
}

// followTimeline goes over to the timeline of the server at the other end of a replication connection, and returns its log. It refuses one that
// lacks something of what was told, or that a replica at a position has. Nobody else waits for the server meanwhile.
func (s *Source) followTimeline(ctx context.Context, conn *pgconn.PgConn, position uint64) (cdc.Log, error) {
	log, err := identify(ctx, conn)
	if err != nil {
		return cdc.Log{}, err
	}
	for {
		next := step{from: s.lineage.followed().Timeline, to: log}
		if next.changes() {
			row, err := ask(ctx, conn, "TIMELINE_HISTORY "+strconv.FormatUint(log.Timeline, 10), 2)
			if err != nil {
				return cdc.Log{}, err
			}
			next.left, next.descends = leftAt(row[1], next.from)
		}
		taken, err := s.lineage.take(next, position)
		switch {
		case err != nil:
			return cdc.Log{}, err
		case !taken: // another connection was faster
			continue
		case next.changes():
			s.log.Info("the server's log goes on on another timeline", "from", next.from, "to", log.Timeline, "left_at", cdc.Position{Major: next.left})
		}
		return log, nil
	}
}

// identify asks a server, by a replication connection, for its log.
func identify(ctx context.Context, conn *pgconn.PgConn) (cdc.Log, error) {
	row, err := ask(ctx, conn, "IDENTIFY_SYSTEM", 2)
	if err != nil {
		return cdc.Log{}, err
	}
	timeline, err := strconv.ParseUint(string(row[1]), 10, 32)
	if err != nil {
		return cdc.Log{}, fmt.Errorf("read the server's timeline: %w", err)
	}
	row, err = ask(ctx, conn, "SELECT "+startedSQL, 1)
	if err != nil {
		return cdc.Log{}, err
	}
	return cdc.Log{Timeline: timeline, Started: string(row[0])}, nil
}

// startedSQL is when the server was started (see [cdc.Log]).
const startedSQL = "extract(epoch FROM pg_catalog.pg_postmaster_start_time())::pg_catalog.text"

// Log is the log which everything that was told so far is of; zero: nothing was told yet. It has no server while it is not known whether the one
// that there is has all of that.
func (s *Source) Log() cdc.Log { return s.lineage.followed() }

// step goes from the timeline that is followed to a log's, which descends from it and left it at a position.
type step struct {
	from     uint64
	to       cdc.Log
	left     uint64
	descends bool
}

func (s step) changes() bool { return s.from != 0 && s.from != s.to.Timeline }

// take takes a step, for a replica at a position. It reports false if another timeline is followed by now than the step goes from.
func (l *lineage) take(s step, position uint64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timeline != s.from {
		return false, nil
	}
	if has := max(position, l.reached); s.changes() && (!s.descends || has > s.left) {
		return false, mismatch("the replica is at %s on timeline %d, which the server's timeline %d left at %s: a failover or a restore lost what came after",
			cdc.Position{Major: has}, s.from, s.to.Timeline, cdc.Position{Major: s.left})
	}
	switch l.timeline = s.to.Timeline; {
	case s.from == 0: // nothing was told that it could lack
		l.started = s.to.Started
	case s.changes():
		l.stepped = s.to.Started
	}
	return true, nil
}

// followed returns the log that is followed.
func (l *lineage) followed() cdc.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cdc.Log{Timeline: l.timeline, Started: l.started}
}

// ask runs a command that returns one row, of so many columns at least.
func ask(ctx context.Context, conn *pgconn.PgConn, command string, columns int) ([][]byte, error) {
	results, err := conn.Exec(ctx, command).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || len(results[0].Rows[0]) < columns {
		return nil, fmt.Errorf("%s: unexpected answer", command)
	}
	return results[0].Rows[0], nil
}

// leftAt finds in a timeline's history where it, or one that it comes from, left a given one: each line has a parent and the position of its end.
// False: it does not come from there.
func leftAt(history []byte, timeline uint64) (uint64, bool) {
	for line := range bytes.Lines(history) {
		fields := bytes.Fields(line)
		if len(fields) < 2 || string(fields[0]) != strconv.FormatUint(timeline, 10) {
			continue
		}
		at, err := cdc.ParsePosition(string(fields[1]))
		return at.Major, err == nil
	}
	return 0, false
}
