package replica_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// row is a model's row: the text of each column; "\x00" is NULL.
type row []string

const null = "\x00"

// content is a table's rows by key.
type content map[string]row

// state is all tables by ID.
type state map[cdc.TableID]content

func (s state) clone() state {
	c := make(state, len(s))
	for id, rows := range s {
		c[id] = maps.Clone(rows)
	}
	return c
}

// event is one thing that a stream hands over.
type event struct {
	position   cdc.Position
	time       time.Time
	changes    []cdc.Change
	discovered *cdc.Discovered
	dropped    cdc.TableID
}

// script is a source whose stream is what a test appends to it. It remembers
// its state after every transaction.
type script struct {
	mu        sync.Mutex
	more      chan struct{} // closed when something is appended
	tables    map[cdc.TableID]*cdc.Table
	now       state
	position  cdc.Position
	events    []event
	states    map[cdc.Position]state
	confirmed cdc.Position
	chunk     int  // changes per call of the handler
	opens     bool // it tells where a transaction ends before its changes
	broken    chan struct{}
	copyFails error         // what copies end with, if set
	copyGate  chan struct{} // a copy, but of all tables, waits for it between its position and its rows, if set
	gate      chan struct{} // a stream waits for it before its first event, if set
	copies    int
	copied    []cdc.TableID // by the last copy
	confirms  int
	asked     chan struct{} // closed when copies or confirms grows
}

func newScript(tables ...*cdc.Table) *script {
	s := &script{
		more: make(chan struct{}), tables: map[cdc.TableID]*cdc.Table{}, now: state{}, chunk: 1 << 30,
		position: cdc.Position{Major: 100}, states: map[cdc.Position]state{}, broken: make(chan struct{}),
		asked: make(chan struct{}),
	}
	for _, t := range tables {
		s.tables[t.ID] = t
		s.now[t.ID] = content{}
	}
	s.states[s.position] = s.now.clone()
	return s
}

func (s *script) Tables(context.Context) ([]cdc.Discovered, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []cdc.Discovered
	for _, id := range slices.Sorted(maps.Keys(s.tables)) {
		all = append(all, cdc.Discovered{Table: s.tables[id]})
	}
	return all, nil
}

func (s *script) Copy(ctx context.Context, ids []cdc.TableID, sink cdc.CopySink) (cdc.Position, error) {
	s.mu.Lock()
	at, snapshot, gate, fails := s.position, s.now.clone(), s.copyGate, s.copyFails
	if len(ids) == len(s.tables) {
		gate = nil // there may be no snapshot before
	}
	s.copies++
	s.copied = ids
	s.answer()
	var defs []*cdc.Table
	for _, id := range ids {
		if t := s.tables[id]; t != nil {
			defs = append(defs, t)
		}
	}
	s.mu.Unlock()
	if fails != nil {
		return at, fails
	}
	if err := sink.Begin(ctx, at, defs); err != nil {
		return at, err
	}
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return at, ctx.Err()
		}
	}
	for _, t := range defs {
		if s.altered(t) {
			why := &cdc.TableError{Code: cdc.CodeSchemaChange, Table: t.FullName(), Detail: "it was altered"}
			if err := sink.Stopped(ctx, t.ID, why); err != nil {
				return at, err
			}
			continue
		}
		if err := copyRows(ctx, sink, t, snapshot[t.ID]); err != nil {
			return at, err
		}
	}
	return at, nil
}

// altered reports whether a table has another definition by now.
func (s *script) altered(t *cdc.Table) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.tables[t.ID]
	return now != nil && now != t
}

func (s *script) Stream(ctx context.Context, from cdc.Position, h cdc.Handler) error {
	s.mu.Lock()
	confirmed, gate := s.confirmed, s.gate
	s.mu.Unlock()
	if from.Before(confirmed) {
		return &cdc.TerminalError{Code: cdc.CodeSlotLost, Detail: fmt.Sprintf("stream asked for from %v, confirmed until %v", from, confirmed)}
	}
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for i := 0; ; i++ {
		s.mu.Lock()
		if i < len(s.events) {
			e := s.events[i]
			chunk, broken := s.chunk, s.broken
			s.mu.Unlock()
			if !from.Before(e.position) {
				continue
			}
			if err := s.deliver(ctx, e, chunk, broken, h); err != nil {
				return err
			}
			continue
		}
		i--
		more, broken := s.more, s.broken
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		case <-broken:
			return errors.New("stream broken by the test")
		}
	}
}

func (s *script) deliver(ctx context.Context, e event, chunk int, broken chan struct{}, h cdc.Handler) error {
	if e.discovered != nil {
		if err := h.Discovered(ctx, *e.discovered); err != nil {
			return err
		}
	}
	if e.dropped != 0 {
		if err := h.Dropped(ctx, e.dropped); err != nil {
			return err
		}
	}
	if e.changes == nil {
		return h.Watermark(ctx, cdc.Watermark{Position: e.position, Time: e.time})
	}
	if o, ok := h.(cdc.Opener); ok && s.opens {
		o.Open(e.position)
	}
	for rest := e.changes; len(rest) > 0; {
		n := min(chunk, len(rest))
		if err := h.Changes(ctx, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
		select {
		case <-broken:
			return errors.New("stream broken by the test")
		default:
		}
	}
	return h.Commit(ctx, cdc.Commit{Position: e.position, Time: e.time})
}

func (s *script) Current(context.Context) (cdc.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.position, nil
}

func (s *script) Confirm(p cdc.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Before(s.confirmed) {
		panic(fmt.Sprintf("confirmed %v after %v", p, s.confirmed))
	}
	s.confirmed = p
	s.confirms++
	s.answer()
}

// answer wakes those who wait for what the replica asks of the source. It needs mu.
func (s *script) answer() {
	close(s.asked)
	s.asked = make(chan struct{})
}

// awaitAsked waits until the replica has confirmed or begun to copy, as often as until says.
func (s *script) awaitAsked(ctx context.Context, t failer, until func() bool) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !until() {
		next := s.asked
		s.mu.Unlock()
		select {
		case <-next:
		case <-ctx.Done():
			t.Fatalf("the replica did not ask the source: %v", ctx.Err())
		}
		s.mu.Lock()
	}
}

// awaitConfirm waits for a confirmation that comes after do was called.
func (s *script) awaitConfirm(ctx context.Context, t failer, do func()) {
	t.Helper()
	before := s.counted(&s.confirms)
	do()
	s.awaitAsked(ctx, t, func() bool { return s.confirms > before })
}

func (s *script) counted(n *int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *n
}

// breakStream ends the stream that runs; the next one goes on.
func (s *script) breakStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.broken)
	s.broken = make(chan struct{})
}

// add appends an event at the next position.
func (s *script) add(e event) cdc.Position {
	s.position.Major++
	e.position, e.time = s.position, time.Unix(int64(s.position.Major), 0)
	s.events = append(s.events, e)
	s.states[s.position] = s.now.clone()
	close(s.more)
	s.more = make(chan struct{})
	return s.position
}

// at returns the state after the newest transaction up to a position.
func (s *script) at(p cdc.Position) state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.states[p]
}

// tx collects a transaction's changes.
type tx struct {
	s       *script
	changes []cdc.Change
}

// commit runs a transaction.
func (s *script) commit(f func(*tx)) cdc.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &tx{s: s}
	f(t)
	if len(t.changes) == 0 {
		return s.position
	}
	return s.add(event{changes: t.changes})
}

func (s *script) watermark() cdc.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(event{})
}

// redefine gives a table another definition and rewrites its rows.
func (s *script) redefine(t *cdc.Table, rewrite func(row) row) cdc.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables[t.ID] = t
	rows := content{}
	for k, r := range s.now[t.ID] {
		rows[k] = rewrite(r)
	}
	s.now[t.ID] = rows
	return s.add(event{discovered: &cdc.Discovered{Table: t}})
}

func (s *script) drop(id cdc.TableID) cdc.Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tables, id)
	delete(s.now, id)
	return s.add(event{dropped: id})
}

func (x *tx) insert(id cdc.TableID, r row) {
	t := x.s.tables[id]
	x.s.now[id][key(t, r)] = r
	x.changes = append(x.changes, cdc.Change{Table: t, Op: cdc.Insert, New: datums(r)})
}

func (x *tx) delete(id cdc.TableID, k string) {
	t := x.s.tables[id]
	x.changes = append(x.changes, cdc.Change{Table: t, Op: cdc.Delete, Old: oldKey(t, x.s.now[id][k])})
	delete(x.s.now[id], k)
}

// update replaces a row. Columns in unchanged are not sent; they keep their value.
func (x *tx) update(id cdc.TableID, k string, r row, unchanged ...int) {
	t := x.s.tables[id]
	old := x.s.now[id][k]
	r = slices.Clone(r)
	c := cdc.Change{Table: t, Op: cdc.Update}
	for _, i := range unchanged {
		r[i] = old[i]
	}
	c.New = datums(r)
	for _, i := range unchanged {
		if old[i] != null {
			c.New[i] = cdc.Datum{Kind: cdc.Unchanged}
		}
	}
	if key(t, r) != k {
		c.Old = oldKey(t, old)
	}
	delete(x.s.now[id], k)
	x.s.now[id][key(t, r)] = r
	x.changes = append(x.changes, c)
}

func (x *tx) truncate(id cdc.TableID) {
	x.s.now[id] = content{}
	x.changes = append(x.changes, cdc.Change{Table: x.s.tables[id], Op: cdc.Truncate})
}
