package debezium

import (
	"context"
	"errors"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Topics do not say of which server's log they are. Who is told of a server that was restored to an earlier state is
// Debezium, which goes on from where it was: what the server wrote before its log had come there again is in no topic,
// and what it does not have any more stays in them. So the server is asked where its log ended when it was started. What comes
// after that must have been committed since. A server that is started anew is noticed by the end of a connection.

// Log is the log that is followed, as [postgres.Source.Log] says.
func (s *Source) Log() cdc.Log { return s.pg.Log() }

// Bookmark implements [cdc.Bookmarker].
func (s *Source) Bookmark(p cdc.Position) []byte { return s.pg.Bookmark(p) }

// Restore implements [cdc.Bookmarker].
func (s *Source) Restore(bookmark []byte) error { return s.catalog.Restore(bookmark) }

// anew adds to an error that says that the server was restored what has to go with the replica: the topics are of the
// former server.
func anew(err error) error {
	if terminal, ok := errors.AsType[*cdc.TerminalError](err); ok && terminal.Code == cdc.CodeSourceMismatch {
		return &cdc.TerminalError{Code: terminal.Code, Detail: terminal.Detail, Remedy: remedyAnew, Err: terminal.Err}
	}
	return err
}

// tell notes a transaction that is about to be handed over, and makes sure that the server has it.
func (st *stream) tell(head endEvent, t *transaction) error {
	committed := time.UnixMilli(head.millis)
	if t.replicated || len(t.runs) == 0 && st.s.catalog.SendsEmpty() { // it may have the time of its first commit, by another server's clock
		committed = time.Time{}
	}
	return anew(st.s.catalog.Tell(head.position, committed))
}

// committedSince reports whether the transactions that ended after a position and up to another one were committed when the server had been
// started: it was started while they came, and has not been restored.
func (s *Source) committedSince(ctx context.Context, after, upTo cdc.Position, start time.Time) (bool, error) {
	h, err := s.openHistory(ctx)
	if err != nil {
		return false, err
	}
	defer h.close()
	m, err := h.find(ctx, after)
	if _, lost := errors.AsType[*cdc.TerminalError](err); lost {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	all := true
	err = h.each(ctx, m.offset+1, h.end, func(end mark) bool {
		if after.Before(end.position) && !upTo.Before(end.position) {
			all = end.millis >= start.UnixMilli()
		}
		return all && !upTo.Before(end.position)
	})
	return all, err
}
