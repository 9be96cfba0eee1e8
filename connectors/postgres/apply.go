package postgres

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// relation is what the stream knows about a table that its changes refer to.
type relation struct {
	id    cdc.TableID
	shape shape
	// table is what changes are handed over with; nil for changes that nobody wants.
	table *cdc.Table
	// unkeyed is table without its key, which nobody is told of, for changes that do not belong to the table as it is known; nil until
	// there are any.
	unkeyed *cdc.Table
	// strays is the transaction, by its commit, with changes of a partition that the table does not have; 0: none.
	strays uint64
	isKey  []bool
	// into has, for each column of the shape, the index of the table's column that it is; -1: that column is not replicated.
	into []int
	// generation is the registry's when table was looked up.
	generation uint64
}

// change interprets one pgoutput message.
func (st *stream) change(ctx context.Context, b []byte) error {
	if len(b) == 0 {
		return fmt.Errorf("decode change: %w", errShort)
	}
	kind, body := b[0], b[1:]
	switch kind {
	case kindInsert, kindUpdate, kindDelete:
		return st.rowChange(ctx, kind, body)
	case kindBegin:
		begin, err := parseBegin(body)
		st.open, st.handed, st.rows, st.replicated = true, false, false, false
		st.commitLSN, st.skip = begin.commitLSN, begin.commitLSN < st.from
		if err != nil {
			return err
		}
		st.src.handedOver.note(begin.xid)
		return st.prove(begin.commitLSN)
	case kindCommit:
		return st.commit(ctx, body)
	case kindRelation:
		return st.relationChanged(ctx, body)
	case kindTruncate:
		return st.truncate(ctx, body)
	case kindOrigin:
		st.replicated = true
		return nil
	case kindType, kindMessage:
		return nil
	}
	return fmt.Errorf("decode change: message kind %q is unknown", kind)
}

// relationChanged takes a table's description, which precedes its first change and its first change after anything
// about it may have changed. The catalog tells what the message leaves out (NOT NULL, which of several keys).
func (st *stream) relationChanged(ctx context.Context, body []byte) error {
	id, s, err := parseRelation(body)
	if err != nil {
		return err
	}
	known, _ := st.src.registry.get(id)
	_, again := st.relations[id]
	rel, root := &relation{id: id, shape: s, generation: ^uint64(0)}, st.root
	st.relations[id], st.root = rel, nil
	if known != nil && known.partitioned {
		st.root = rel
	}
	switch {
	case root != nil:
		if err := st.partitionDescribed(ctx, root, id); err != nil {
			return err
		}
	case known == nil || !again && known.shape.equal(s):
		return nil
	default:
		if err := st.src.lookAgain(ctx, id); err != nil {
			return err
		}
		if now, _ := st.src.registry.get(id); now != nil && !now.shape.equal(s) {
			st.missed(id) // it was another meanwhile, of which the catalog shows nothing
		}
	}
	if st.handed || len(st.batch.changes) > 0 {
		return nil // in the middle of a transaction: announced after its commit
	}
	return st.announce(ctx)
}

// partitionDescribed takes the description of a partition that has a change, which follows its root's. If the partition is gone by now, and with it
// its rows, the root's changes are not the table's.
func (st *stream) partitionDescribed(ctx context.Context, root *relation, id cdc.TableID) error {
	has := func(d *definition) bool { return d == nil || slices.Contains(d.partitions, id) }
	if d, _ := st.src.registry.get(root.id); has(d) {
		return nil
	}
	if err := st.src.lookAgain(ctx, root.id); err != nil {
		return err
	}
	if now, _ := st.src.registry.get(root.id); !has(now) {
		root.strays = st.commitLSN
		st.missed(root.id)
	}
	return nil
}

// missed has a table copied anew because changes of the open transaction do not belong to its definition. It does nothing if a copy under that
// definition has these changes already: one transaction may describe a table more than once.
func (st *stream) missed(id cdc.TableID) {
	if !st.src.registry.covers(id, st.commitLSN) {
		st.src.registry.setGap(id)
	}
}

// lookAgain reads one table's definition from the catalog and queues it if it changed.
func (s *Source) lookAgain(ctx context.Context, id cdc.TableID) error {
	s.refreshing.Lock()
	defer s.refreshing.Unlock()
	defs, err := s.discover(ctx, id)
	if err != nil {
		return err
	}
	if len(defs) == 0 {
		s.registry.drop(id)
		return nil
	}
	if s.registry.put(defs[0]) {
		s.registry.announceNews()
	}
	return nil
}

// lookup returns the relation of a change with its table up to date.
func (st *stream) lookup(id cdc.TableID) (*relation, error) {
	rel := st.relations[id]
	if rel == nil {
		return nil, fmt.Errorf("decode change: relation %d was not described before", id)
	}
	if g := st.src.registry.generation.Load(); rel.generation != g {
		rel.resolve(st.src.registry)
		rel.generation = g
	}
	return rel, nil
}

func (rel *relation) resolve(reg *registry) {
	rel.unkeyed = nil
	d, given := reg.get(rel.id)
	switch {
	case d == nil || given == nil || d.stopped != nil:
		rel.table = nil
		return
	case given.shape.equal(rel.shape) && (given.table.SameRows(d.table) || !d.shape.equal(rel.shape)):
		// Only what no change shows is new (a partition, say), or the catalog is ahead of the stream.
		rel.table = given.table
	case d.shape.equal(rel.shape):
		rel.table = d.table
	case rel.table == nil || !rel.shape.describes(rel.table):
		// The catalog is ahead of the stream by two definitions. The changes at hand will be dropped in favour of a
		// copy; until then they need a definition that fits them.
		rel.table = rel.shape.provisional(d.table)
	}
	rel.isKey = make([]bool, len(rel.table.Columns))
	for _, k := range rel.table.Key {
		rel.isKey[k] = true
	}
	rel.into = rel.shape.columnsOf(rel.table)
}

// describes reports whether a table has all of the shape's columns and no others.
func (s shape) describes(t *cdc.Table) bool {
	if len(s.columns) != len(t.Columns) {
		return false
	}
	for i, c := range s.columns {
		if t.Columns[i].Name != c.name || t.Columns[i].Type != c.typ {
			return false
		}
	}
	return true
}

// columnsOf maps the shape's columns onto those of a table with which it agrees, by name; -1: the table omits it.
func (s shape) columnsOf(t *cdc.Table) []int {
	into := make([]int, len(s.columns))
	for i, c := range s.columns {
		into[i] = slices.IndexFunc(t.Columns, func(k cdc.Column) bool { return k.Name == c.name })
	}
	return into
}

// provisional makes a definition of what a relation message says, with those key columns that it still has.
func (s shape) provisional(newest *cdc.Table) *cdc.Table {
	t := &cdc.Table{ID: newest.ID, Schema: s.schema, Name: s.name}
	for i, c := range s.columns {
		t.Columns = append(t.Columns, cdc.Column{Name: c.name, Type: c.typ, Modifier: c.modifier})
		for _, k := range newest.Key {
			if newest.Columns[k].Name == c.name {
				t.Key = append(t.Key, i)
			}
		}
	}
	return t
}

func (st *stream) truncate(ctx context.Context, body []byte) error {
	st.rows = true
	ids, err := parseTruncate(body)
	if err != nil || st.skip {
		return err
	}
	for _, id := range ids {
		rel, err := st.lookup(id)
		if err != nil {
			return err
		}
		if rel.table == nil {
			continue
		}
		if !st.batch.fits(0, 0) {
			if err := st.flush(ctx); err != nil {
				return err
			}
		}
		st.batch.changes = append(st.batch.changes, cdc.Change{Table: rel.table, Op: cdc.Truncate})
	}
	return nil
}

func (st *stream) rowChange(ctx context.Context, kind byte, body []byte) error {
	st.rows = true
	id, _, _, err := splitChange(body)
	if err != nil || st.skip {
		return err
	}
	rel, err := st.lookup(id)
	if err != nil || rel.table == nil {
		return err
	}
	if !st.batch.fits(len(body), 2*len(rel.shape.columns)) {
		if err := st.flush(ctx); err != nil {
			return err
		}
	}
	c, err := rel.decode(kind, st.batch.keep(body), st.batch)
	if err != nil {
		return fmt.Errorf("table %s.%s: %w", rel.shape.schema, rel.shape.name, err)
	}
	switch {
	case rel.strays == st.commitLSN:
		c.Table = rel.withoutKey()
	case c.Old != nil && !rel.keyKnown(c.Old):
		return st.keyless(id, rel, c)
	}
	st.batch.changes = append(st.batch.changes, c)
	return nil
}

// keyless deals with a change that lacks the row's key. The change was made under another key if the server described the table so, or if a
// copy under the known definition has it already; it is then handed over with a definition that the handler was not told of, which says that a
// copy of the table is to come (see [Source.Stream]). Otherwise the table cannot be followed, and stops.
func (st *stream) keyless(id cdc.TableID, rel *relation, c cdc.Change) error {
	if d, _ := st.src.registry.get(id); d != nil && (st.src.registry.covers(id, st.commitLSN) || !d.shape.equal(rel.shape)) {
		c.Table = rel.withoutKey()
		st.batch.changes = append(st.batch.changes, c)
		return nil
	}
	st.src.registry.stop(id, &cdc.TableError{
		Code: cdc.CodeNoKey, Table: rel.shape.schema + "." + rel.shape.name,
		Detail: "a change came without the key of the row (a replica identity other than the table's, as of a partition)",
		Remedy: "ALTER TABLE … REPLICA IDENTITY DEFAULT on the table and its partitions",
	})
	return nil
}

// withoutKey returns the table without its key: the definition to hand changes over with that do not belong to the table as it is known.
func (rel *relation) withoutKey() *cdc.Table {
	if rel.unkeyed == nil {
		unkeyed := *rel.table
		unkeyed.Key = nil
		rel.unkeyed = &unkeyed
	}
	return rel.unkeyed
}

// keyKnown reports whether all key columns of an old row have values.
func (rel *relation) keyKnown(old cdc.Row) bool {
	for _, k := range rel.table.Key {
		if old[k].Kind != cdc.Binary && old[k].Kind != cdc.Text {
			return false
		}
	}
	return true
}

// decode makes a change of an insert, update or delete message, whose bytes it refers to.
func (rel *relation) decode(kind byte, body []byte, mem *batch) (cdc.Change, error) {
	_, tuple, b, err := splitChange(body)
	if err != nil {
		return cdc.Change{}, err
	}
	n := len(rel.table.Columns)
	c := cdc.Change{Table: rel.table}
	if tuple == tupleKey || tuple == tupleOld {
		c.Old = mem.row(n)
		if b, err = decodeTuple(b, c.Old, rel.into); err != nil {
			return c, err
		}
		if kind == kindDelete {
			c.Op = cdc.Delete
			rel.keepKey(c.Old)
			return c, nil
		}
		if len(b) == 0 {
			return c, fmt.Errorf("decode update: %w", errShort)
		}
		tuple, b = b[0], b[1:]
	}
	if tuple != tupleNew || kind == kindDelete {
		return c, fmt.Errorf("decode change: tuple kind %q does not belong in message kind %q", tuple, kind)
	}
	c.New = mem.row(n)
	if _, err = decodeTuple(b, c.New, rel.into); err != nil {
		return c, err
	}
	c.Op = cdc.Insert
	if kind == kindUpdate {
		c.Op = cdc.Update
		c.Old = rel.reconcile(c.Old, c.New)
	}
	return c, nil
}

// reconcile takes values that the new row left out from the old one, and returns the old key if it changed.
func (rel *relation) reconcile(old, row cdc.Row) cdc.Row {
	if old == nil {
		return nil
	}
	changed := false
	for i := range row {
		if row[i].Kind == cdc.Unchanged && (old[i].Kind == cdc.Binary || old[i].Kind == cdc.Text) {
			row[i] = old[i]
		}
		if rel.isKey[i] && (row[i].Kind != old[i].Kind || !bytes.Equal(row[i].Data, old[i].Data)) {
			changed = true
		}
	}
	if !changed {
		return nil
	}
	rel.keepKey(old)
	return old
}

// keepKey blanks all but the key columns.
func (rel *relation) keepKey(row cdc.Row) {
	for i := range row {
		if !rel.isKey[i] {
			row[i] = cdc.Datum{}
		}
	}
}
