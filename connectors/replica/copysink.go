package replica

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"sync"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/column"
	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/connectors/replica/rowindex"
)

const (
	// copyBytes of copied rows become a part of the base, however few rows they are.
	copyBytes = 24 << 20
	// copyParts is the number of parts beyond which they are merged at the end.
	copyParts = 2
	// copyManyParts is the number of parts from which on the engine merges some while others come: merging takes up to 10 MiB for each part,
	// where rows are long, and the engine takes no more than 3,000.
	copyManyParts = 32
	// copyWriters is how many statements of a copy run in the engine at a time.
	copyWriters = 3
)

// copySink writes copied rows into new bases.
type copySink struct {
	c       *copier
	at      cdc.Position
	writers chan *engine.Conn // those that nobody uses; nil: one that is not connected yet

	mu     sync.Mutex
	tables map[cdc.TableID]*copyJob // that are not given up
}

func newCopySink(c *copier) *copySink {
	k := &copySink{c: c, writers: make(chan *engine.Conn, copyWriters), tables: map[cdc.TableID]*copyJob{}}
	for range copyWriters {
		k.writers <- nil
	}
	return k
}

// close ends the connections, each of which holds a part's bytes, and gives back the memory that the copy took. Nobody may be copying.
func (k *copySink) close() {
	for range copyWriters {
		if conn := <-k.writers; conn != nil {
			if err := conn.Close(); err != nil {
				k.c.s.log.Debug("closing a copy's connection", "error", err)
			}
		}
	}
	debug.FreeOSMemory()
}

// copyJob is a table that is being copied.
type copyJob struct {
	table *table // its rows are not used before the copy is complete
	base  *object

	mu    sync.Mutex // guards what follows, and the table's index
	idle  []*column.Rows
	key   []byte // scratch
	parts int
	done  bool // all rows are there
	over  bool // given up
}

func (k *copySink) job(id cdc.TableID) *copyJob {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.tables[id]
}

// jobs returns those that are not given up.
func (k *copySink) jobs() map[cdc.TableID]*copyJob {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.tables)
}

// Begin makes the bases. A table that the copy leaves out is gone at the source, or announced anew.
func (k *copySink) Begin(ctx context.Context, at cdc.Position, defs []*cdc.Table) error {
	k.at = at
	k.c.begun()
	given := map[cdc.TableID]bool{}
	for _, def := range defs {
		if t := k.job(def.ID); t != nil {
			given[def.ID] = true
			if err := k.begin(ctx, t, def); err != nil {
				return err
			}
		}
	}
	for id := range k.jobs() {
		if !given[id] {
			k.giveUp(id, k.c.s.remove)
		}
	}
	return nil
}

func (k *copySink) begin(ctx context.Context, t *copyJob, def *cdc.Table) error {
	s := k.c.s
	s.mu.Lock()
	err := t.table.prepare(def)
	s.mu.Unlock()
	if err != nil {
		k.giveUp(def.ID, func(*table) {
			s.stop(def, &cdc.TableError{Code: cdc.CodeUnsupportedType, Table: def.FullName(), Detail: err.Error(),
				Remedy: "exclude the table, or change its definition; its queries go to the source database"})
		})
		return nil
	}
	t.base = s.ledger.created(s.names.next(fmt.Sprintf("b_%d", def.ID)))
	sql, err := createBase(s.ledger.qualified(t.base), def)
	if err != nil {
		return err
	}
	if err := k.exec(ctx, t, "create the base of", sql); err != nil {
		return err
	}
	s.log.Info("table is being copied", "table", def.FullName(), "position", k.at)
	return nil
}

// Rows adds copied rows to their table's base.
func (k *copySink) Rows(ctx context.Context, def *cdc.Table, rows []cdc.Row) error {
	t := k.job(def.ID)
	if t == nil {
		return nil
	}
	collected, err := t.take()
	for i := 0; err == nil && i < len(rows); i++ {
		err = collected.Append(rowindex.None, rows[i])
	}
	if err != nil {
		k.misfit(def.ID, err)
		return nil
	}
	if collected.Len() >= k.c.s.cfg.CopyRows || collected.Bytes() >= copyBytes {
		if err := k.flush(ctx, t, collected); err != nil {
			return err
		}
	}
	t.give(collected)
	return nil
}

// take returns rows that nobody else adds to.
func (t *copyJob) take() (*column.Rows, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.idle); n > 0 {
		rows := t.idle[n-1]
		t.idle = t.idle[:n-1]
		return rows, nil
	}
	return column.NewRows(t.table.def)
}

// give takes them back.
func (t *copyJob) give(rows *column.Rows) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = append(t.idle, rows)
}

// flush writes rows and leaves none.
func (k *copySink) flush(ctx context.Context, t *copyJob, rows *column.Rows) error {
	if rows.Len() == 0 {
		return nil
	}
	if err := t.index(rows); err != nil {
		k.misfit(t.table.def.ID, err)
		return nil
	}
	err := k.borrow(ctx, func(conn *engine.Conn) error { return conn.Insert(ctx, k.c.s.ledger.qualified(t.base), rows.Input(0)) })
	if err != nil {
		return t.failed("insert into the base of", err)
	}
	n := rows.Len()
	rows.Reset()
	if t.wrote(n) == copyManyParts {
		return k.exec(ctx, t, "let the engine merge the base of", "ALTER TABLE "+k.c.s.ledger.qualified(t.base)+" RESET SETTING "+mergeSettings)
	}
	return nil
}

// index gives rows their ids.
func (t *copyJob) index(rows *column.Rows) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := 0; i < rows.Len() && !t.over; i++ {
		rid := t.table.rids.Next()
		if rid == rowindex.None {
			return errRowIDs
		}
		rows.RID[i] = rid
		t.key = rows.AppendKey(t.key[:0], t.table.def.Key, i)
		if !t.table.index.Insert(t.table.index.Hash(t.key), rid) {
			return errDuplicateKey
		}
	}
	return nil
}

// wrote counts a part of so many rows, and returns how many there were.
func (t *copyJob) wrote(rows int) (parts int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table.arrived.Add(int64(rows))
	t.parts++
	return t.parts
}

// failed returns the error of a statement of the copy; nil if the table was given up, and its base dropped, meanwhile.
func (t *copyJob) failed(what string, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over && engine.Refused(err) {
		return nil
	}
	return &engineError{fmt.Errorf("%s table %s: %w", what, t.table.def.FullName(), err)}
}

// exec runs a statement for a table.
func (k *copySink) exec(ctx context.Context, t *copyJob, what, sql string) error {
	if err := k.borrow(ctx, func(conn *engine.Conn) error { return conn.Exec(ctx, sql) }); err != nil {
		return t.failed(what, err)
	}
	return nil
}

// borrow uses a connection that nobody else uses.
func (k *copySink) borrow(ctx context.Context, use func(*engine.Conn) error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case conn := <-k.writers:
		defer func() { k.writers <- conn }()
		if conn == nil {
			var err error
			if conn, err = engine.Dial(ctx, k.c.s.cfg.engine(k.c.s.cfg.Database)); err != nil {
				return err
			}
		}
		return use(conn)
	}
}

// Done writes the last rows of a table and merges its base.
func (k *copySink) Done(ctx context.Context, def *cdc.Table) error {
	t := k.job(def.ID)
	if t == nil {
		return nil
	}
	t.mu.Lock()
	idle := t.idle
	t.idle = nil
	t.mu.Unlock()
	for _, rows := range idle {
		if err := k.flush(ctx, t, rows); err != nil {
			return err
		}
	}
	t.mu.Lock()
	parts := t.parts
	t.done = !t.over
	t.mu.Unlock()
	return k.merge(ctx, t, parts)
}

// merge makes one part of a base that was written in so many.
func (k *copySink) merge(ctx context.Context, t *copyJob, parts int) error {
	name := k.c.s.ledger.qualified(t.base)
	if parts >= copyManyParts {
		if err := k.exec(ctx, t, "forbid the engine to merge the base of", "ALTER TABLE "+name+" MODIFY SETTING "+noMerges); err != nil {
			return err
		}
	}
	if parts <= copyParts {
		return nil
	}
	err := k.exec(ctx, t, "merge the copy of", "OPTIMIZE TABLE "+name+" FINAL") // a merge under way is waited for
	if engine.MemoryExceeded(err) {
		k.c.s.log.Warn("parts of a copy stay apart until its table is compacted", "table", t.table.def.FullName(), "why", err)
		return nil
	}
	return err
}

// misfit gives up a table whose rows do not fit.
func (k *copySink) misfit(id cdc.TableID, why error) {
	k.giveUp(id, func(t *table) { k.c.s.misfit(t, why) })
}

// giveUp ends the copy of one table, unless it has ended already, and calls then, with the session's mu held, to decide what becomes of the
// table. It does not call then if the table was announced anew meanwhile: what the copy has found is about the former definition.
func (k *copySink) giveUp(id cdc.TableID, then func(*table)) {
	t := k.forget(id)
	if t == nil {
		return
	}
	s := k.c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables[id] == t {
		then(t)
		s.changed.Broadcast() // the stream may have waited for this copy to take its deferred changes
	}
}

// forget gives up what was copied of a table, and returns it; nil: there is no such copy.
func (k *copySink) forget(id cdc.TableID) *table {
	k.mu.Lock()
	t := k.tables[id]
	delete(k.tables, id)
	k.mu.Unlock()
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over, t.idle = true, nil
	if t.base == nil {
		return t.table
	}
	var rids []uint32
	for rid := range t.table.index.RowIDs() {
		rids = append(rids, rid)
	}
	k.c.s.ledger.free(rids)
	k.c.s.ledger.drop(t.base)
	return t.table
}

func (k *copySink) abandon() {
	for id := range k.jobs() {
		k.forget(id)
	}
}

// Stopped gives up one table that was not left out or given up before.
func (k *copySink) Stopped(_ context.Context, id cdc.TableID, why *cdc.TableError) error {
	k.giveUp(id, func(t *table) { k.c.s.stop(t.def, why) })
	return nil
}

// finish hands the complete bases to the stream's handler.
func (k *copySink) finish(at cdc.Watermark) error {
	jobs := k.jobs()
	for _, t := range jobs {
		if !t.done {
			return fmt.Errorf("the copy of table %s has no end", t.table.def.FullName())
		}
	}
	s := k.c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range jobs {
		if s.tables[id] != t.table { // dropped or asked for anew meanwhile
			k.forget(id)
			continue
		}
		rows := t.table.arrived.Load()
		s.complete(t.table, copied{base: t.base, upTo: at, rows: rows, physical: rows})
		s.log.Info("table is copied", "table", t.table.def.FullName(), "rows", rows, "position", at.Position)
	}
	s.changed.Broadcast()
	return nil
}
