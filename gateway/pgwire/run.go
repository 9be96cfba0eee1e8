package pgwire

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/gateway/datarow"
	"github.com/freshet-io/freshet/gateway/freshness"
)

// flushSize is how much of an answer is gathered before it is sent.
const flushSize = 32 << 10

// run is one execution on the analytical route.
type run struct {
	s      *session
	e      *execution
	d      *description
	status txStatus

	out  []byte
	rows int64
	sent bool
	// portal keeps what the client did not ask for yet, until the answer is complete; nil: it cannot ask for more.
	portal *portal
}

// began reports whether the client may have seen part of the answer.
func (r *run) began() bool { return r.sent || r.rows > 0 }

// run answers until ctx ends, or finds that PostgreSQL is to answer. It calls stop when PostgreSQL has ended the
// session meanwhile.
func (r *run) run(ctx context.Context, stop context.CancelCauseFunc) (became outcome, err error) {
	s := r.s
	b := &backend{s: s}
	s.info.Ask, s.info.Record = b.ask, s.record
	if r.status == txIdle {
		s.info.AskPlan = b.askPlan
	}
	defer func() { s.info.Ask, s.info.AskPlan = nil, nil }()
	end := b.keepInTouch(ctx, r.status, stop)
	defer func() {
		if lost := end(); err == nil {
			err = lost
		}
	}()
	defer func() { r.portal.close() }() // of an answer that failed
	if r.e.class.Kind == Explain {
		return done, r.explain(ctx)
	}
	if err := r.pin(ctx); err != nil {
		return undecided, err
	}
	analytics := s.srv.cfg.Analytics
	q, err := analytics.Plan(ctx, &s.info, r.statement())
	if err != nil {
		return undecided, err
	}
	if analytics.Generation() != r.d.generation {
		return undecided, &RelayError{Reason: "tables were defined anew just now"}
	}
	if r.e.resume == nil && r.e.class.Kind == Declare && r.keepsSnapshot() {
		return relayed, s.declare(r.e)
	}
	return done, r.deliver(ctx, b, q)
}

// keepsSnapshot reports whether the execution is in a block that reads one snapshot to its end.
func (r *run) keepsSnapshot() bool { return r.status == txOpen && r.s.info.Isolation != readCommitted }

// pin has the execution in a block read the block's snapshot: the one that there is, or a new one.
func (r *run) pin(ctx context.Context) error {
	s := r.s
	s.info.Tx = nil
	if r.status != txOpen {
		return nil
	}
	switch {
	case r.keepsSnapshot():
	case s.block.oltp: // PostgreSQL has shown the block newer data, perhaps
		s.endTx()
		s.info.WroteSince, s.block.oltp = true, false
	case s.info.Settings.Freshness == freshness.Strong: // each statement sees what was committed before it
		s.endTx()
	}
	if s.pinned.Load() == nil {
		tx, err := s.srv.cfg.Analytics.Begin(ctx, &s.info)
		if err != nil {
			return err
		}
		s.pinned.Store(&pinnedTx{tx})
	}
	s.info.Tx = s.pinned.Load().Tx
	return nil
}

// deliver answers with what the query yields.
func (r *run) deliver(ctx context.Context, b *backend, q Query) (err error) {
	s, p := r.s, r.e.resume
	switch {
	case p != nil:
		err = r.fill(ctx, q, p, r.formats())
	case r.e.class.Kind == Declare:
		err = r.handRows(ctx, b, q)
	default:
		err = r.answer(ctx, q, r.formats())
	}
	if err != nil {
		return err
	}
	s.info.WroteSince, s.info.ReadSince = false, false
	if r.status == txOpen {
		s.block.columnar = r.keepsSnapshot()
	}
	if p != nil {
		return r.fetch(p)
	}
	return nil
}

// answer answers with a query's rows, of which a portal keeps what the client does not ask for yet.
func (r *run) answer(ctx context.Context, q Query, formats []int16) error {
	r.head(formats)
	if r.status == txOpen && r.e.extended() && !r.e.closes {
		r.portal = r.s.newPortal(r.e, "SELECT", r.d.fields, formats)
	}
	n, err := q.Run(ctx, formats, r.add)
	if err != nil && !errors.Is(err, ErrRowLimit) {
		return err
	}
	if err := r.keepPortal(); err != nil {
		return err
	}
	if !r.e.opens() {
		r.tail(tag("SELECT", n))
	}
	return nil
}

// keepPortal keeps what the client did not ask for yet.
func (r *run) keepPortal() (err error) {
	if p := r.portal; p != nil && r.e.executed {
		p.sent = r.rows
		_, p.at, err = p.at.Go(r.e.asked(), p.total(), false)
	}
	r.s.keepPortal(r.e.bind.DestinationPortal, r.portal)
	r.portal = nil
	return err
}

// tag is the command tag of a statement that yielded n rows.
func tag(command string, n int64) string { return command + " " + strconv.FormatInt(n, 10) }

func (r *run) statement() Statement {
	q := r.e.query()
	st := Statement{SQL: q.text(), ParamOIDs: r.d.params, Fields: r.d.fields}
	for i, v := range q.bind.Parameters {
		st.Params = append(st.Params, Param{Format: formatOf(q.bind.ParameterFormatCodes, i), Null: v == nil, Value: v})
	}
	return st
}

// formats returns the format of each field.
func (r *run) formats() []int16 {
	codes := r.e.bind.ResultFormatCodes
	if q := r.e.query(); q.class.Binary && !r.e.extended() {
		codes = []int16{pgtype.BinaryFormatCode}
	}
	formats := make([]int16, len(r.d.fields))
	for i := range formats {
		formats[i] = formatOf(codes, i)
	}
	return formats
}

// formatOf is the format of a Bind's parameter or column: no code means text for all, and one is everybody's. Where
// PostgreSQL takes fewer codes than there are columns, as with DECLARE, which has none, they mean nothing.
func formatOf(codes []int16, i int) int16 {
	switch {
	case len(codes) == 1:
		return codes[0]
	case i >= len(codes):
		return pgtype.TextFormatCode
	}
	return codes[i]
}

// head begins the answer.
func (r *run) head(formats []int16) {
	if r.e.extended() {
		r.out = encode(r.out, &pgproto3.BindComplete{})
		if !r.e.describes {
			return
		}
	}
	r.out = encode(r.out, rowDescription(r.d.fields, formats))
}

func rowDescription(fields []pgproto3.FieldDescription, formats []int16) *pgproto3.RowDescription {
	in := slices.Clone(fields)
	for i := range in {
		in[i].Format = formats[i]
	}
	return &pgproto3.RowDescription{Fields: in}
}

// add adds rows to the answer.
func (r *run) add(rows datarow.Rows) error {
	if r.e.opens() {
		return r.portal.keep(rows)
	}
	var rest datarow.Rows
	if limit := int64(r.e.maxRows); limit > 0 {
		rows, rest = rows.Split(int(limit - r.rows))
	}
	r.rows += int64(rows.Len())
	if err := r.write(rows.Messages()); err != nil {
		return err
	}
	switch {
	case rest.Len() == 0:
		return nil
	case r.portal != nil:
		return r.portal.keep(rest)
	}
	return ErrRowLimit
}

// write adds messages to what is sent. Many are not copied once more.
func (r *run) write(messages []byte) error {
	if len(r.out)+len(messages) >= flushSize {
		if err := r.flush(); err != nil {
			return err
		}
	}
	if len(messages) >= flushSize {
		return r.send(messages)
	}
	r.out = append(r.out, messages...)
	return nil
}

// flush sends what was gathered, if there is any.
func (r *run) flush() error {
	if len(r.out) == 0 {
		return nil
	}
	out := r.out
	r.out = out[:0]
	return r.send(out)
}

// send hands messages to the client.
func (r *run) send(messages []byte) error {
	r.sent = true
	if _, err := r.s.client.Write(messages); err != nil {
		return fmt.Errorf("write to the client: %w", err)
	}
	return nil
}

// tail ends an answer that succeeded.
func (r *run) tail(tag string) {
	if limit := int64(r.e.maxRows); limit > 0 && r.rows >= limit {
		r.out = encode(r.out, &pgproto3.PortalSuspended{})
	} else {
		r.out = encode(r.out, &pgproto3.CommandComplete{CommandTag: []byte(tag)})
	}
	if r.e.closes {
		r.out = encode(r.out, &pgproto3.CloseComplete{})
	}
}

// finish sends the end of the answer, or the error that ended it.
func (r *run) finish(err error) error {
	s := r.s
	if isGone(err) {
		return err
	}
	if err != nil {
		if !r.sent { // nothing of the answer need be seen
			r.out = nil
		}
		if err := r.flush(); err != nil {
			return err
		}
		return s.fail(err, !r.e.within)
	}
	r.out = r.e.ready(r.out, r.status)
	return r.flush()
}

// explain answers EXPLAIN (FRESHET).
func (r *run) explain(ctx context.Context) error {
	s := r.s
	s.info.Tx = nil
	if p := s.pinned.Load(); p != nil {
		s.info.Tx = p.Tx
	}
	lines, err := s.srv.cfg.Analytics.Explain(ctx, &s.info, r.statement())
	if err != nil {
		return err
	}
	return r.plan(lines)
}

// plan answers with lines as PostgreSQL's EXPLAIN does.
func (r *run) plan(lines []string) error {
	const textOID = 25
	r.d = &description{fields: []pgproto3.FieldDescription{{Name: []byte("QUERY PLAN"), DataTypeOID: textOID, DataTypeSize: -1, TypeModifier: -1}}}
	r.head(r.formats())
	rows := make([][][]byte, len(lines))
	for i, line := range lines {
		rows[i] = [][]byte{[]byte(line)}
	}
	if err := r.add(datarow.Of(rows...)); err != nil && !errors.Is(err, ErrRowLimit) {
		return err
	}
	r.tail("EXPLAIN")
	return nil
}

// watch reads the client's connection while an analytical statement runs, so that a client that goes
// away stops it, as does one that has only closed its writing side: the two look the same. What the client sends
// meanwhile is kept.
type watch struct {
	s     *session
	extra []byte
	done  chan error
}

// watchSize is how much a client may send ahead before it is no longer watched.
const watchSize = 4 << 10

func (s *session) watchClient(stop context.CancelCauseFunc) *watch {
	w := &watch{s: s, extra: make([]byte, 0, watchSize), done: make(chan error, 1)}
	go func() {
		for len(w.extra) < cap(w.extra) {
			n, err := s.client.Read(w.extra[len(w.extra):cap(w.extra)])
			w.extra = w.extra[:len(w.extra)+n]
			if err == nil {
				continue
			}
			if isTimeout(err) {
				err = nil
			} else {
				stop(errClientGone)
				err = errClientGone
			}
			w.done <- err
			return
		}
		w.done <- nil
	}()
	return w
}

// end stops watching and puts what was read behind what the session has.
func (w *watch) end() error {
	s := w.s
	closed := s.client.SetReadDeadline(time.Unix(1, 0))
	if gone := <-w.done; gone != nil || closed != nil {
		return errClientGone
	}
	m := &s.fromClient
	if grown := m.w + len(w.extra); grown > len(m.buf) {
		b := make([]byte, 2*grown)
		copy(b, m.buf[:m.w])
		m.buf = b
	}
	m.w += copy(m.buf[m.w:], w.extra)
	if err := s.client.SetReadDeadline(time.Time{}); err != nil {
		return errClientGone
	}
	return nil
}
