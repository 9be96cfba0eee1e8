package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/column"
	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/connectors/replica/rowindex"
)

// copier takes copies of tables while the stream goes on.
type copier struct {
	s    *session
	conn *engine.Conn
	wake chan struct{}
	busy chan struct{} // holds a token while nobody copies
	// since is where the stream was when the copy under way began, which the copy's position is not before; zero: there is none.
	// session.mu guards it.
	since cdc.Watermark
}

// A piece of a copy becomes one part of the base.
const (
	copyRows  = 131_072
	copyBytes = 24 << 20
	// copyParts is the number of parts beyond which they are merged at the end.
	copyParts = 2
)

func (c *copier) request() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// run copies what is asked for once the stream has begun.
func (c *copier) run(ctx context.Context) error {
	wait := backoff{least: 100 * time.Millisecond, most: 5 * time.Second}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.wake:
		}
		for c.s.hasStarted() {
			_, more, err := c.copy(ctx)
			if err == nil {
				wait.reset()
				if !more {
					break
				}
				continue
			}
			if err := c.trouble(ctx, err); err != nil {
				return err
			}
			if err := wait.sleep(ctx); err != nil {
				return err
			}
		}
	}
}

// trouble returns the errors that end the session; others are tried again.
func (c *copier) trouble(ctx context.Context, err error) error {
	var lost *engineError
	var terminal *cdc.TerminalError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &lost) && !engine.Refused(err), errors.As(err, &terminal):
		return err
	case errors.As(err, &lost):
		c.s.r.engineTrouble(err)
	default:
		c.s.r.copyTrouble(err)
	}
	return nil
}

// engineError marks an error of a copy as the engine's, not the source's.
type engineError struct{ err error }

func (e *engineError) Error() string { return e.err.Error() }
func (e *engineError) Unwrap() error { return e.err }

// first takes the copies that a new replica begins with. It reports their watermark.
func (c *copier) first(ctx context.Context) (at cdc.Watermark, ok bool, err error) {
	at, ok, err = c.copy(ctx)
	if err != nil {
		if fatal := c.trouble(ctx, err); fatal != nil {
			return at, false, fatal
		}
	}
	return at, ok, err
}

// copy takes copies of all tables that wait for one. It reports false if there were none.
func (c *copier) copy(ctx context.Context) (at cdc.Watermark, ok bool, err error) {
	select {
	case <-ctx.Done():
		return at, false, ctx.Err()
	case <-c.busy:
	}
	defer func() { c.busy <- struct{}{} }()
	s := c.s
	s.mu.Lock()
	sink := &copySink{c: c, tables: map[cdc.TableID]*copyJob{}}
	var ids []cdc.TableID
	c.since = s.arrived
	for id, t := range s.tables {
		if t.progress == copying {
			ids = append(ids, id)
			sink.tables[id] = &copyJob{table: t}
		}
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		c.since = cdc.Watermark{}
	}()
	if len(ids) == 0 {
		s.r.copyWell()
		return at, false, nil
	}
	at.Time = s.r.clock() // before the snapshot: however long its rows take, they are of then
	if at.Position, err = s.src.Copy(ctx, ids, sink); err == nil {
		s.r.copyWell()
		err = sink.finish(ctx, at)
	}
	if err != nil {
		sink.abandon()
		return at, false, fmt.Errorf("copy tables: %w", err)
	}
	return at, true, nil
}

// copySink writes copied rows into new bases.
type copySink struct {
	c      *copier
	tables map[cdc.TableID]*copyJob
	at     cdc.Position
}

// copyJob is a table that is being copied.
type copyJob struct {
	table *table // its rows are not used before the copy is complete
	base  *object
	rows  *column.Rows
	key   []byte
	parts int
	count int64
}

// Begin makes the bases. A table that the copy leaves out is gone at the source, or announced anew.
func (k *copySink) Begin(ctx context.Context, at cdc.Position, defs []*cdc.Table) error {
	k.at = at
	given := map[cdc.TableID]bool{}
	for _, def := range defs {
		if t := k.tables[def.ID]; t != nil {
			given[def.ID] = true
			if err := k.begin(ctx, t, def); err != nil {
				return err
			}
		}
	}
	for id := range k.tables {
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
	if err == nil {
		t.rows, err = column.NewRows(def)
	}
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
	if err := k.c.conn.Exec(ctx, sql); err != nil {
		return &engineError{fmt.Errorf("create the base of table %s: %w", def.FullName(), err)}
	}
	s.log.Info("table is being copied", "table", def.FullName(), "position", k.at)
	return nil
}

// Rows adds copied rows to their table's base.
func (k *copySink) Rows(ctx context.Context, def *cdc.Table, rows []cdc.Row) error {
	t := k.tables[def.ID]
	if t == nil {
		return nil
	}
	for _, row := range rows {
		if err := t.add(row); err != nil {
			k.giveUp(def.ID, func(t *table) { k.c.s.misfit(t, err) })
			return nil
		}
		if t.rows.Len() >= copyRows {
			if err := k.flush(ctx, t); err != nil {
				return err
			}
		}
	}
	if t.rows.Bytes() >= copyBytes {
		return k.flush(ctx, t)
	}
	return nil
}

func (t *copyJob) add(row cdc.Row) error {
	rid := t.table.rids.Next()
	if rid == rowindex.None {
		return errRowIDs
	}
	n := t.rows.Len()
	if err := t.rows.Append(rid, row); err != nil {
		return err
	}
	t.key = t.rows.AppendKey(t.key[:0], t.table.def.Key, n)
	if !t.table.index.Insert(t.table.index.Hash(t.key), rid) {
		return errDuplicateKey
	}
	return nil
}

// giveUp ends the copy of one table. What is to become of the table is then's to say, which needs mu, unless it was announced anew meanwhile: what the
// copy finds is about the old definition.
func (k *copySink) giveUp(id cdc.TableID, then func(*table)) {
	t := k.tables[id].table
	k.forget(id)
	s := k.c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tables[id] == t {
		then(t)
		s.changed.Broadcast() // the stream may have waited for this copy to take its deferred changes
	}
}

// forget gives up what was copied of a table.
func (k *copySink) forget(id cdc.TableID) {
	t := k.tables[id]
	delete(k.tables, id)
	if t.base == nil {
		return
	}
	var rids []uint32
	for rid := range t.table.index.RowIDs() {
		rids = append(rids, rid)
	}
	k.c.s.ledger.free(rids)
	k.c.s.ledger.drop(t.base)
}

func (k *copySink) abandon() {
	for id := range k.tables {
		k.forget(id)
	}
}

func (k *copySink) flush(ctx context.Context, t *copyJob) error {
	if t.rows.Len() == 0 {
		return nil
	}
	if err := k.c.conn.Insert(ctx, k.c.s.ledger.qualified(t.base), t.rows.Input(0)); err != nil {
		return &engineError{fmt.Errorf("insert into the base of table %s: %w", t.table.def.FullName(), err)}
	}
	t.count += int64(t.rows.Len())
	t.parts++
	t.rows.Reset()
	return nil
}

// Stopped gives up one table that was not left out or given up before.
func (k *copySink) Stopped(_ context.Context, id cdc.TableID, why *cdc.TableError) error {
	if k.tables[id] != nil {
		k.giveUp(id, func(t *table) { k.c.s.stop(t.def, why) })
	}
	return nil
}

// finish hands the complete bases to the stream's handler.
func (k *copySink) finish(ctx context.Context, at cdc.Watermark) error {
	for _, t := range k.tables {
		if err := k.flush(ctx, t); err != nil {
			return err
		}
		t.rows = nil
		if t.parts > copyParts {
			// Merging takes up to 10 MiB for each part, where rows are long.
			err := k.c.conn.Exec(ctx, "OPTIMIZE TABLE "+k.c.s.ledger.qualified(t.base)+" FINAL")
			if engine.MemoryExceeded(err) {
				k.c.s.log.Warn("parts of a copy stay apart until its table is compacted", "table", t.table.def.FullName(), "parts", t.parts, "why", err)
				err = nil
			}
			if err != nil {
				return &engineError{fmt.Errorf("merge the copy of table %s: %w", t.table.def.FullName(), err)}
			}
		}
	}
	s := k.c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, t := range k.tables {
		if s.tables[id] != t.table { // dropped or asked for anew meanwhile
			k.forget(id)
			continue
		}
		s.complete(t.table, copied{base: t.base, upTo: at, rows: t.count, physical: t.count})
		s.log.Info("table is copied", "table", t.table.def.FullName(), "rows", t.count, "position", at.Position)
	}
	s.changed.Broadcast()
	return nil
}

// complete gives a table its base. It becomes live as soon as the stream is there, be it inside a transaction: what comes of a large one must not
// be deferred to its end.
func (s *session) complete(t *table, c copied) {
	t.progress, t.activated = behind, &c
	s.waiting[t] = struct{}{}
	s.deferring[t] = struct{}{}
	if s.started {
		s.catchUp(t)
		s.wake()
	}
}
