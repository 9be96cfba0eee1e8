package postgres

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// start is a start of the server: whatever its log has after Began was written since. It shows that a data folder was put back to an earlier
// state: the log then ended, at that start, before what had been told of it, however far it has come by now.
type start struct {
	// Started is as in [cdc.Log].
	Started string `json:"started,omitzero"`
	// Began is where the log ended then; 0: the server did not tell any more.
	Began uint64 `json:"began,omitzero"`
}

// CommittedSince reports whether all transactions that were told between two positions, the first not included, were committed at a time or after it, by the
// server's clock.
type CommittedSince func(after, upTo cdc.Position, start time.Time) (bool, error)

// beganSQL asks where the log ended when the server was started. After a crash or as a standby it has replayed the log
// up to there, and remembers that for good. Otherwise the last checkpoint is that of its shutdown, before which nothing
// was written since the checkpoint began: until the next one.
const beganSQL = `SELECT coalesce(pg_catalog.pg_last_wal_replay_lsn(), CASE WHEN redo_lsn = checkpoint_lsn THEN checkpoint_lsn END)::pg_catalog.text
	FROM pg_catalog.pg_control_checkpoint()`

// readStart asks a server, by a replication connection, where the log ended when it was started.
func readStart(ctx context.Context, conn *pgconn.PgConn, log cdc.Log) (start, error) {
	row, err := ask(ctx, conn, beganSQL, 1)
	if err != nil {
		return start{}, err
	}
	if row[0] == nil {
		return start{Started: log.Started}, nil
	}
	began, err := cdc.ParsePosition(string(row[0]))
	return start{Started: log.Started, Began: began.Major}, err
}

// undone reports whether the log does not have a transaction any more: it was committed before this start, by the server's clock, but its
// position is after the end that the log had at this start.
func (s start) undone(position cdc.Position, committed time.Time) bool {
	if s.Began == 0 || position.Major <= s.Began || committed.IsZero() {
		return false
	}
	return committed.UnixMilli() < s.time().UnixMilli()
}

// time is when the server was started, by its clock; the beginning of time if it does not tell.
func (s start) time() time.Time {
	at, _ := parseSeconds(s.Started)
	return at
}

// parseSeconds reads a time that a server told in seconds.
func parseSeconds(seconds string) (at time.Time, err error) {
	s, err := strconv.ParseFloat(seconds, 64)
	if err != nil {
		return at, err
	}
	return time.UnixMicro(int64(s * 1e6)), nil
}

// hasAll makes sure that a server still has everything that was told, and that a replica at a position has. It goes by where the server's log
// ended when the server was started, for callers that do not read the log itself (a stream shows more, see [stream.prove]); since looks for
// what was told of the log after that end.
func (l *lineage) hasAll(log cdc.Log, at start, position uint64, since CommittedSince) error {
	l.mu.Lock()
	reached, known, stepped := max(position, l.reached), cmp.Or(l.start.Started, l.started), l.stepped
	l.mu.Unlock()
	shown := at.Began // all that was told up to there is in the server's log
	if 0 < at.Began && at.Began < reached && known != "" && known != at.Started && stepped != at.Started {
		all, err := since(cdc.Position{Major: at.Began}, cdc.Position{Major: reached}, at.time())
		if err != nil {
			return err
		}
		if all {
			shown = reached
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timeline != log.Timeline {
		return errSuperseded
	}
	has := cdc.Position{Major: max(position, l.reached)}
	switch known := cmp.Or(l.start.Started, l.started); {
	case known == at.Started:
		at.Began = cmp.Or(l.start.Began, at.Began)
	case known == "" || l.stepped == at.Started: // nothing was told of another, or its timeline's history shows it
	case at.Began == 0:
		return mismatch("the server was started anew at %s and does not tell any more where its log ended then: nothing shows that it has what the replica at %s has",
			instant(at.Started), has)
	case shown < has.Major:
		return mismatch("the server's log ended at %s when it was started at %s, and the replica is at %s: the server was restored to an earlier state",
			cdc.Position{Major: at.Began}, instant(at.Started), has)
	}
	l.start, l.started = at, at.Started
	return nil
}

// tellUnlessUndone notes a transaction that is about to be told. It returns an error for one that the server does not
// have any more.
func (l *lineage) tellUnlessUndone(position cdc.Position, committed time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.start.undone(position, committed) {
		return mismatch("the transaction that ended at %s was committed before the server was started at %s, when its log ended at %s: the server was restored to an earlier state",
			position, instant(l.start.Started), cdc.Position{Major: l.start.Began})
	}
	l.reached = max(l.reached, position.Major)
	return nil
}

func mismatch(detail string, args ...any) error {
	return &cdc.TerminalError{Code: cdc.CodeSourceMismatch, Detail: fmt.Sprintf(detail, args...), Remedy: cdc.RemedyRecopy}
}

// instant prints a time that a server told in seconds.
func instant(seconds string) string {
	at, err := parseSeconds(seconds)
	if err != nil {
		return seconds
	}
	return at.UTC().Format(time.RFC3339)
}
