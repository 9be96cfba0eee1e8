package pgwire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/gateway/cursor"
	"github.com/freshet-io/freshet/gateway/datarow"
)

// declared is a cursor of DECLARE that the replica reads for. PostgreSQL has run its DECLARE as well: it knows the name
// and the columns, ends the cursor when a rollback does, and is never asked for its rows once the replica has been.
// Until then the cursor may yet become PostgreSQL's own, by its portal's being dropped.
//
// Invariant: a cursor whose portal is filled is of a block that reads a columnar snapshot, in which PostgreSQL reads
// nothing.
type declared struct {
	by *execution // the DECLARE
	// confirmed says that PostgreSQL holds it, scrolls that it can go back, and kept that PostgreSQL has had all of its
	// rows since an earlier transaction: FETCH reads no table then.
	confirmed, scrolls, kept bool
}

// declaringClass is what PostgreSQL does for a cursor that the replica reads for: it takes no rows.
var declaringClass = class{plain: true, word: "declare"}

// keptClass is what PostgreSQL does for a FETCH or MOVE of a cursor whose rows it has kept.
var keptClass = class{plain: true, word: "fetch"}

var (
	errForwardOnly = &Error{Code: codeNotPrerequisiteState, Message: cursor.ErrForwardOnly.Error(),
		Hint: "Declare it with SCROLL option to enable backward scan."}
	errOtherFormat = besideSnapshot("its cursor's rows were first read in another format")
)

// declare notes the cursor that an execution declares, whose query the replica takes. The execution is then to be
// relayed, for PostgreSQL to know the cursor: as one that takes no rows.
func (s *session) declare(e *execution) error {
	name := e.class.Cursor
	own := *e
	e.class = &declaringClass
	if p := s.block.portals[name]; p != nil {
		if p.declared == nil {
			return duplicateCursor(name)
		}
		if held, err := s.holdsCursor(s.info.Ask, name, p); held || err != nil {
			return err // PostgreSQL refuses a second one of the name
		}
		s.dropPortal(name)
	}
	p := s.newPortal(&own, "FETCH", nil, nil)
	p.declared = &declared{by: &own}
	s.keepPortal(name, p)
	return nil
}

func duplicateCursor(name string) error {
	return &Error{Code: codeDuplicateCursor, Message: fmt.Sprintf("cursor %q already exists", name)}
}

// holdsCursor reports whether PostgreSQL holds a cursor yet: its DECLARE may have failed, and a rollback to a savepoint
// may have ended it. The backend must be held; ask is as [SessionInfo.Ask].
func (s *session) holdsCursor(ask func(context.Context, string) ([][][]byte, error), name string, p *portal) (bool, error) {
	d := p.declared
	if d.confirmed {
		return true, nil
	}
	rows, err := ask(s.ctx, "SELECT is_scrollable, is_holdable AND creation_time OPERATOR(pg_catalog.<) pg_catalog.now()"+
		" FROM pg_catalog.pg_cursors WHERE name OPERATOR(pg_catalog.=) "+Quote(name))
	if err != nil || len(rows) != 1 {
		return false, err
	}
	d.confirmed, d.scrolls, d.kept = true, string(rows[0][0]) == "t", string(rows[0][1]) == "t"
	return true, nil
}

// doubtCursors has PostgreSQL asked anew which cursors there are.
func (s *session) doubtCursors() {
	for _, p := range s.block.portals {
		if p.declared != nil {
			p.declared.confirmed = false
		}
	}
}

// leaveCursors leaves the cursors that were not read yet to PostgreSQL, which is to read other data in the block, or
// may read them.
func (s *session) leaveCursors() {
	for name, p := range s.block.portals {
		if p.declared != nil && p.formats == nil {
			s.dropPortal(name)
		}
	}
}

// ofCursors reports whether a statement is one of cursors where PostgreSQL may not simply run it.
func (s *session) ofCursors(c *class) bool {
	return c.namesCursor() && (len(s.block.portals) > 0 || s.block.columnar)
}

func (c *class) namesCursor() bool { return c.word == "fetch" || c.word == "move" || c.word == "close" }

// attendCursor deals with a FETCH, MOVE or CLOSE in an open block; dealtWith is false if it is as any other statement.
func (s *session) attendCursor(e *execution, status txStatus) (dealtWith bool, err error) {
	c, ok := s.srv.cfg.Analytics.Cursor(e.sql)
	p := s.block.portals[c.Name]
	switch {
	case !ok || len(e.bind.Parameters) > 0:
		return false, nil
	case c.Action == cursor.Close && c.Name == "":
		s.dropPortals()
		return false, nil
	case c.Action == cursor.Close && p != nil && p.declared == nil: // which PostgreSQL does not know
		e.resume, e.moves = p, &c
		return true, s.readOn(e)
	case c.Action == cursor.Close:
		s.dropPortal(c.Name)
		return false, nil
	case p == nil:
		return s.relayUnknownCursor(e, c.Name)
	case p.declared == nil && c.Action == cursor.Fetch && e.extended(): // described by PostgreSQL, which knows of no rows
		return true, s.reject(e, besideSnapshot("its cursor is a portal of the extended protocol"))
	case p.declared == nil:
		e.resume, e.moves = p, &c
		return true, s.readOn(e)
	}
	held, failed, err := s.confirmCursor(e, c.Name, p)
	if failed || err != nil {
		return true, err
	}
	if !held {
		s.dropPortal(c.Name)
		return true, s.relay(e, "")
	}
	e.resume, e.moves = p, &c
	if p.formats == nil {
		return true, s.offer(e, status)
	}
	return true, s.readOn(e)
}

// confirmCursor is holdsCursor for a backend that is not held. failed says that PostgreSQL refused this, or what came
// before the execution in its unit, and that the client knows.
func (s *session) confirmCursor(e *execution, name string, p *portal) (held, failed bool, err error) {
	if p.declared.confirmed {
		return true, false, nil
	}
	if err := s.acquire(); err != nil {
		return false, false, err
	}
	failed, status, err := s.settleUnit()
	switch {
	case err != nil:
		return false, false, err
	case failed:
		_, err = s.client.Write(e.ready(nil, status))
	default:
		held, err = s.holdsCursor(s.ask, name, p)
		if isSQLError(err) { // a cancellation or a time limit, which has ended the block as well
			failed, err = true, s.fail(err, !e.within)
		}
	}
	if err != nil {
		return false, false, err
	}
	s.handBack()
	if failed {
		s.answered(e)
	}
	return held, failed, nil
}

// relayUnknownCursor gives a statement to PostgreSQL, in a block on a columnar snapshot, whose cursor does not exist, or
// is WITH HOLD and of an earlier transaction.
func (s *session) relayUnknownCursor(e *execution, name string) (dealtWith bool, err error) {
	if !s.block.columnar {
		return false, nil
	}
	unknown := portal{declared: &declared{}}
	held, failed, err := s.confirmCursor(e, name, &unknown)
	kept := unknown.declared.kept
	if failed || held && !kept || err != nil {
		return failed, err
	}
	if kept {
		e.class = &keptClass
	}
	return true, s.relay(e, "")
}

// executesCursor deals with an Execute of a cursor's portal.
func (s *session) executesCursor(name string, size int) (dealtWith bool, err error) {
	if s.block.columnar {
		if status, err := s.awaitQuiet(); err != nil || status != txOpen {
			return false, err
		}
		return true, s.rejectUnit(besideSnapshot("a cursor is read there by FETCH alone"), size)
	}
	s.dropPortal(name)
	s.block.oltp = true
	return false, nil
}

// fill reads all rows of a cursor that was not read yet.
func (r *run) fill(ctx context.Context, q Query, p *portal, formats []int16) error {
	r.s.emptyPortal(p)
	if _, err := q.Run(ctx, formats, p.keep); err != nil {
		return err
	}
	p.formats, p.fields = formats, r.d.fields
	p.meaning, p.expiries = r.s.info.meaning(), r.s.expiries
	return nil
}

// fetch answers FETCH or MOVE.
func (r *run) fetch(p *portal) error {
	c := r.e.moves
	span, at, err := p.at.Go(*c, p.total(), p.declared != nil && p.declared.scrolls)
	if c.Action == cursor.Move {
		r.noRows()
	} else {
		r.d = &description{fields: p.fields}
		if !r.inFormats(p.formats) {
			return errOtherFormat
		}
		r.head(p.formats)
	}
	if err != nil {
		if r.e.extended() { // PostgreSQL finds out as it executes what it has bound and described
			if err := r.flush(); err != nil {
				return err
			}
		}
		return errForwardOnly
	}
	if c.Action == cursor.Move {
		p.at = at
		r.tail(tag("MOVE", span.Count))
		return nil
	}
	return r.fetchSpan(p, span, at)
}

// fetchSpan answers FETCH by the rows of a span.
func (r *run) fetchSpan(p *portal, span cursor.Span, at cursor.Position) error {
	if r.e.extended() && r.e.maxRows > 0 && !r.e.closes {
		r.portal = r.s.newPortal(r.e, "FETCH", p.fields, p.formats)
	}
	if err := p.yield(span, r.add); err != nil && !errors.Is(err, ErrRowLimit) {
		return err
	}
	p.at = at
	if err := r.keepPortal(); err != nil {
		return err
	}
	r.tail(tag("FETCH", span.Count))
	return nil
}

// acknowledge answers a statement that has no rows.
func (r *run) acknowledge(tag string) {
	r.noRows()
	r.tail(tag)
}

// noRows begins the answer to a statement that has no rows.
func (r *run) noRows() {
	if !r.e.extended() {
		return
	}
	r.out = encode(r.out, &pgproto3.BindComplete{})
	if r.e.describes {
		r.out = encode(r.out, &pgproto3.NoData{})
	}
}

// inFormats reports whether the execution asks for rows in the formats that they were written in.
func (r *run) inFormats(formats []int16) bool {
	codes := r.e.bind.ResultFormatCodes
	return (len(codes) <= 1 || len(codes) == len(formats)) && slices.Equal(r.formats(), formats)
}

// yield hands out the rows of a span.
func (p *portal) yield(span cursor.Span, sink func(datarow.Rows) error) error {
	if !span.Down {
		return p.yieldUp(span.First, span.Count, sink)
	}
	for last, left := span.First, span.Count; left > 0; {
		n := min(left, markEvery)
		var chunk []datarow.Rows
		err := p.yieldUp(last-n+1, n, func(rows datarow.Rows) error {
			chunk = append(chunk, datarow.Messages(bytes.Clone(rows.Messages()), 1))
			return nil
		})
		for i := len(chunk) - 1; i >= 0 && err == nil; i-- {
			err = sink(chunk[i])
		}
		if err != nil {
			return err
		}
		last, left = last-n, left-n
	}
	return nil
}

// yieldUp hands out rows one by one. The sink must not keep them.
func (p *portal) yieldUp(first, count int64, sink func(datarow.Rows) error) error {
	if count == 0 {
		return nil
	}
	if err := p.goTo(first - p.sent); err != nil {
		return fmt.Errorf("go back in what is kept of a result: %w", err)
	}
	var buf []byte
	for range count {
		row, err := p.next(buf)
		if err != nil {
			return fmt.Errorf("read what is kept of a result: %w", err)
		}
		buf = row
		if err := sink(datarow.Messages(row, 1)); err != nil {
			return err
		}
	}
	return nil
}
