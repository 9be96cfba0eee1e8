package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Model is a replica in memory. It follows a source, copies tables as they are discovered, and applies
// whole transactions. It is safe for concurrent use.
type Model struct {
	mu         sync.Mutex
	changed    chan struct{} // closed and replaced with every progress
	tables     map[cdc.TableID]*table
	staged     []cdc.Change
	position   cdc.Position
	watermark  cdc.Watermark
	commits    int
	opened     cdc.Position // of the open transaction; zero: the source does not tell
	recopies   int
	failed     error
	violations []string
	source     cdc.Source
}

type table struct {
	def     *cdc.Table
	stopped *cdc.TableError
	rows    map[string]cdc.Row
	copied  cdc.Position
	has     bool // a copy is complete
}

// NewModel returns an empty model.
func NewModel() *Model {
	return &Model{tables: map[cdc.TableID]*table{}, changed: make(chan struct{})}
}

// progress wakes everybody who waits; m.mu is held.
func (m *Model) progress() {
	close(m.changed)
	m.changed = make(chan struct{})
}

func (m *Model) violate(format string, args ...any) {
	if len(m.violations) < 20 {
		m.violations = append(m.violations, fmt.Sprintf(format, args...))
	}
}

// Follow copies what the source has and follows its stream until ctx ends. An error that is not
// terminal makes it resume from its position, as a replica does. A model that has followed before resumes likewise.
func (m *Model) Follow(ctx context.Context, src cdc.Source) error {
	m.mu.Lock()
	m.source = src
	m.mu.Unlock()
	for {
		err := m.follow(ctx, src)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, ok := errors.AsType[*cdc.TerminalError](err); ok {
			m.mu.Lock()
			m.failed = err
			m.progress()
			m.mu.Unlock()
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond): // the database may be restarting
		}
	}
}

func (m *Model) follow(ctx context.Context, src cdc.Source) error {
	found, err := src.Tables(ctx)
	if err != nil {
		return err
	}
	var missing []cdc.TableID
	m.mu.Lock()
	m.staged = nil
	there := map[cdc.TableID]bool{}
	for _, d := range found {
		there[d.Table.ID] = true
		if m.know(d) {
			missing = append(missing, d.Table.ID)
		}
	}
	for id := range m.tables {
		if !there[id] {
			delete(m.tables, id)
		}
	}
	m.mu.Unlock()
	var copied cdc.Position
	if len(missing) > 0 {
		if copied, err = m.copy(ctx, missing); err != nil {
			return err
		}
	}
	m.mu.Lock()
	if m.position.IsZero() { // never streamed: all copies were taken together just now
		m.position = copied
	}
	from := m.position
	m.mu.Unlock()
	return src.Stream(ctx, from, m)
}

// know records a definition and reports whether the table must be copied.
func (m *Model) know(d cdc.Discovered) bool {
	t := m.tables[d.Table.ID]
	if t != nil && t.has && d.Stopped == nil && equalTables(t.def, d.Table) {
		t.def = d.Table
		return false
	}
	m.tables[d.Table.ID] = &table{def: d.Table, stopped: d.Stopped, rows: map[string]cdc.Row{}}
	return d.Stopped == nil
}

func equalTables(a, b *cdc.Table) bool {
	return fmt.Sprintf("%+v", *a) == fmt.Sprintf("%+v", *b)
}

func (m *Model) copy(ctx context.Context, ids []cdc.TableID) (cdc.Position, error) {
	sink := &copySink{model: m, done: map[cdc.TableID]bool{}}
	at, err := m.source.Copy(ctx, ids, sink)
	if err != nil {
		return at, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at != sink.at {
		m.violate("copy ended at %s, it began at %s", at, sink.at)
	}
	for _, t := range sink.tables {
		if mt := m.tables[t.ID]; mt != nil && mt.stopped == nil {
			mt.has, mt.copied = true, at
			if !sink.done[t.ID] {
				m.violate("copy of %s.%s has no end", t.Schema, t.Name)
			}
		}
	}
	m.recopies++
	m.progress()
	return at, nil
}

// copySink puts copied rows into the model.
type copySink struct {
	model  *Model
	at     cdc.Position
	tables []*cdc.Table
	done   map[cdc.TableID]bool
}

// Begin implements [cdc.CopySink].
func (s *copySink) Begin(_ context.Context, at cdc.Position, tables []*cdc.Table) error {
	s.at, s.tables = at, tables
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	for _, t := range tables {
		mt := s.model.tables[t.ID]
		if mt == nil || mt.def != t {
			s.model.violate("copy of %s.%s has a definition that was not announced", t.Schema, t.Name)
		}
		s.model.tables[t.ID] = &table{def: t, rows: map[string]cdc.Row{}}
	}
	return nil
}

// Rows implements [cdc.CopySink].
func (s *copySink) Rows(_ context.Context, t *cdc.Table, rows []cdc.Row) error {
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	mt := s.model.tables[t.ID]
	if s.done[t.ID] {
		s.model.violate("copy of %s.%s has rows after its end", t.Schema, t.Name)
	}
	for _, row := range rows {
		row = clone(row)
		k := key(t, row)
		if _, dup := mt.rows[k]; dup {
			s.model.violate("copy of %s.%s has a key twice", t.Schema, t.Name)
		}
		mt.rows[k] = row
	}
	return nil
}

// Done implements [cdc.CopySink].
func (s *copySink) Done(_ context.Context, t *cdc.Table) error {
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	if s.done[t.ID] {
		s.model.violate("copy of %s.%s ends twice", t.Schema, t.Name)
	}
	s.done[t.ID] = true
	return nil
}

// Stopped implements [cdc.CopySink].
func (s *copySink) Stopped(_ context.Context, id cdc.TableID, why *cdc.TableError) error {
	s.model.mu.Lock()
	defer s.model.mu.Unlock()
	if mt := s.model.tables[id]; mt != nil {
		mt.stopped, mt.rows = why, map[string]cdc.Row{}
	}
	return nil
}

// Changes implements [cdc.Handler].
func (m *Model) Changes(_ context.Context, changes []cdc.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range changes {
		c.Old, c.New = clone(c.Old), clone(c.New)
		m.staged = append(m.staged, c)
	}
	return nil
}

// Open implements [cdc.Opener].
func (m *Model) Open(least cdc.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.position.Before(least) {
		m.violate("transaction that ends at %s at the earliest after %s", least, m.position)
	}
	m.opened = least
}

// Commit implements [cdc.Handler].
func (m *Model) Commit(_ context.Context, c cdc.Commit) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.position.Before(c.Position) {
		m.violate("commit at %s after %s", c.Position, m.position)
	}
	if c.Position.Before(m.opened) {
		m.violate("commit at %s of a transaction that ends at %s at the earliest", c.Position, m.opened)
	}
	for _, t := range m.tables {
		if t.has && !m.opened.IsZero() && !t.copied.Before(m.opened) && t.copied.Before(c.Position) {
			m.violate("copy at %s between %s and the end at %s of a transaction", t.copied, m.opened, c.Position)
		}
	}
	m.opened = cdc.Position{}
	for _, ch := range m.staged {
		t := m.tables[ch.Table.ID]
		// Without a copy, or with an older one still to come, the change is part of the copy to be taken.
		if t == nil || t.stopped != nil || !t.has || !t.copied.Before(c.Position) {
			continue
		}
		if t.def != ch.Table {
			// The definition changed inside this transaction: the table is void until it is announced and copied. If
			// it never is, the comparison fails.
			t.has = false
			continue
		}
		m.apply(t, ch)
	}
	m.staged, m.position = m.staged[:0], c.Position
	m.commits++
	m.progress()
	return nil
}

func (m *Model) apply(t *table, c cdc.Change) {
	name := t.def.Schema + "." + t.def.Name
	switch c.Op {
	case cdc.Truncate:
		clear(t.rows)
	case cdc.Delete:
		k := key(t.def, c.Old)
		if t.rows[k] == nil {
			m.violate("delete of a row of %s that is not there", name)
		}
		delete(t.rows, k)
	case cdc.Insert:
		k := key(t.def, c.New)
		if t.rows[k] != nil {
			m.violate("insert of a row of %s that is there", name)
		}
		t.rows[k] = c.New
	case cdc.Update:
		k := key(t.def, c.New)
		old := k
		if c.Old != nil {
			old = key(t.def, c.Old)
		}
		was := t.rows[old]
		if was == nil {
			m.violate("update of a row of %s that is not there", name)
			return
		}
		for i := range c.New {
			if c.New[i].Kind == cdc.Unchanged {
				c.New[i] = was[i]
			}
		}
		delete(t.rows, old)
		if t.rows[k] != nil {
			m.violate("update to a key of %s that is there", name)
		}
		t.rows[k] = c.New
	default:
		m.violate("operation %d of %s is unknown", c.Op, name)
	}
}

// Watermark implements [cdc.Handler].
func (m *Model) Watermark(_ context.Context, w cdc.Watermark) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.staged) > 0 {
		m.violate("watermark inside a transaction")
	}
	if w.Position.Before(m.position) || w.Time.Before(m.watermark.Time) {
		m.violate("watermark goes back: %s after %s", w.Position, m.position)
	}
	m.position, m.watermark = w.Position, w
	m.source.Confirm(w.Position)
	m.progress()
	return nil
}

// Discovered implements [cdc.Handler]: it takes the copy at once.
func (m *Model) Discovered(ctx context.Context, d cdc.Discovered) error {
	m.mu.Lock()
	if len(m.staged) > 0 {
		m.violate("table announced inside a transaction")
	}
	m.tables[d.Table.ID] = &table{def: d.Table, stopped: d.Stopped, rows: map[string]cdc.Row{}}
	m.progress()
	m.mu.Unlock()
	if d.Stopped != nil {
		return nil
	}
	_, err := m.copy(ctx, []cdc.TableID{d.Table.ID})
	return err
}

// Dropped implements [cdc.Handler].
func (m *Model) Dropped(_ context.Context, id cdc.TableID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tables[id] == nil {
		m.violate("table %d dropped that was not announced", id)
	}
	delete(m.tables, id)
	m.progress()
	return nil
}

// clone copies a row and its values, which are the source's.
func clone(row cdc.Row) cdc.Row {
	if row == nil {
		return nil
	}
	out := make(cdc.Row, len(row))
	for i, d := range row {
		out[i] = cdc.Datum{Kind: d.Kind}
		if d.Kind == cdc.Binary || d.Kind == cdc.Text {
			out[i].Data = append([]byte{}, d.Data...)
		}
	}
	return out
}

// key returns a row's key as a string.
func key(t *cdc.Table, row cdc.Row) string {
	var k []byte
	for _, i := range t.Key {
		k = fmt.Appendf(k, "%d:%d:%s,", row[i].Kind, len(row[i].Data), row[i].Data)
	}
	return string(k)
}
