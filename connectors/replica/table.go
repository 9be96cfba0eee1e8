package replica

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/column"
	"github.com/freshet-io/freshet/connectors/replica/rowindex"
)

// Phase says how far a table is.
type Phase string

// The phases of a table.
const (
	// PhaseCopying is a table whose copy is being taken, or not reached by the stream yet.
	PhaseCopying Phase = "copying"
	// PhaseReady is a table that snapshots have.
	PhaseReady Phase = "ready"
	// PhaseStopped is a table that needs a person.
	PhaseStopped Phase = "stopped"
)

// progress is how far a table is with regard to the stream.
type progress uint8

const (
	// copying: its base is being filled; changes are deferred.
	copying progress = iota
	// behind: its base is ahead of the stream; changes are deferred until the stream has passed it.
	behind
	// live: changes are staged.
	live
)

// What is wrong with a change that does not fit the rows that are there. The
// table is copied anew.
var (
	errDuplicateKey = errors.New("a key is there already, or two keys share a hash")
	errMissingKey   = errors.New("a changed key is not there")
	errRowIDs       = errors.New("all row ids are in use")
)

// table is one copy of a source table, from its copying on until it is dropped,
// stops or is copied anew. Its fields are the handler's, guarded by
// session.mu, except stored, which is the publisher's.
type table struct {
	def       *cdc.Table
	progress  progress
	attempts  int       // copies taken in a row because changes did not fit
	liveSince time.Time // when it became live
	refused   time.Time // since when the engine refuses to build the next base; zero: it does not
	index     *rowindex.Index
	rids      *rowindex.Allocator
	deferred  deferred
	// arrived counts the rows that the copy has written; anybody may look while it is under way.
	arrived atomic.Int64

	// What the next epoch gets.
	touched   bool
	rows      *column.Rows
	spare     *column.Rows
	at        map[uint32]int // row id to its place in rows
	previous  []uint32       // for each row in rows, which one it replaces
	deaths    []uint32
	deleted   []uint32 // those of deaths that nothing replaces
	unchanged []unchanged
	truncated bool
	voided    []uint32 // row ids that a truncation or the end of the table killed
	activated *copied
	removed   bool

	oldKey []*column.Column // scratch
	key    []byte           // scratch

	stored stored
}

// copied is a complete base and the watermark of its rows.
type copied struct {
	base *object
	upTo cdc.Watermark
	rows int64
	// physical counts its rows together with those that are masked in it.
	physical int64
}

// unchanged is a value that the source did not send, to be taken from the row's previous version.
type unchanged struct {
	row, column int
	old         uint32
}

// newTable returns a table whose copy is still to begin.
func newTable(def *cdc.Table, rids *rowindex.Allocator, attempts int) *table {
	return &table{def: def, rids: rids, attempts: attempts}
}

// prepare readies the table for rows of a definition.
func (t *table) prepare(def *cdc.Table) error {
	if len(def.Key) == 0 {
		return errors.New("the table has no key")
	}
	t.def, t.index, t.at, t.oldKey = def, rowindex.New(), map[uint32]int{}, nil
	t.arrived.Store(0)
	var err error
	if t.rows, err = column.NewRows(def); err != nil {
		return err
	}
	if t.spare, err = column.NewRows(def); err != nil {
		return err
	}
	for _, k := range def.Key {
		c, err := column.New(def.Columns[k])
		if err != nil {
			return err
		}
		t.oldKey = append(t.oldKey, c)
	}
	return nil
}

// apply stages a change. After an error the table is void.
func (t *table) apply(c *cdc.Change) error {
	switch c.Op {
	case cdc.Insert:
		return t.insert(c.New)
	case cdc.Update:
		return t.update(c.Old, c.New)
	case cdc.Delete:
		return t.delete(c.Old)
	case cdc.Truncate:
		t.truncate()
		return nil
	}
	return fmt.Errorf("unknown operation %d", c.Op)
}

func (t *table) insert(row cdc.Row) error {
	n := t.rows.Len()
	rid := t.rids.Next()
	if rid == rowindex.None {
		return errRowIDs
	}
	if err := t.rows.Append(rid, row); err != nil {
		return err
	}
	if !t.index.Insert(t.hash(n), rid) {
		return errDuplicateKey
	}
	t.at[rid] = n
	t.previous = append(t.previous, rowindex.None)
	return nil
}

// hash returns the hash of a staged row's key.
func (t *table) hash(row int) uint64 {
	t.key = t.rows.AppendKey(t.key[:0], t.def.Key, row)
	return t.index.Hash(t.key)
}

// hashOld returns the hash of the key columns of a row that came before a change.
func (t *table) hashOld(old cdc.Row) (uint64, error) {
	if len(old) != len(t.def.Columns) {
		return 0, fmt.Errorf("old row has %d columns, want %d", len(old), len(t.def.Columns))
	}
	t.key = t.key[:0]
	for i, k := range t.def.Key {
		c := t.oldKey[i]
		c.Reset()
		if err := c.Append(old[k]); err != nil {
			return 0, err
		}
		t.key = c.AppendKey(t.key, 0)
	}
	return t.index.Hash(t.key), nil
}

func (t *table) update(old, row cdc.Row) error {
	n := t.rows.Len()
	if err := t.rows.Append(rowindex.None, row); err != nil {
		return err
	}
	h := t.hash(n)
	was := h
	if old != nil {
		var err error
		if was, err = t.hashOld(old); err != nil {
			return err
		}
	}
	previous := t.index.Get(was)
	if previous == rowindex.None {
		return errMissingKey
	}
	if at, staged := t.at[previous]; staged {
		// The row was born in this very epoch: nobody needs its previous version.
		t.rows.Truncate(n)
		if err := t.rows.Set(at, row); err != nil {
			return err
		}
		t.settle(at, row)
		return t.move(was, h, previous)
	}
	rid := t.rids.Next()
	if rid == rowindex.None {
		return errRowIDs
	}
	t.rows.RID[n] = rid
	t.at[rid] = n
	t.previous = append(t.previous, previous)
	t.deaths = append(t.deaths, previous)
	for i := range row {
		if row[i].Kind == cdc.Unchanged {
			t.unchanged = append(t.unchanged, unchanged{row: n, column: i, old: previous})
		}
	}
	return t.move(was, h, rid)
}

// move lets a key's hash point to a row, where the key may have changed.
func (t *table) move(was, h uint64, rid uint32) error {
	if was == h {
		t.index.Replace(h, rid)
		return nil
	}
	t.index.Delete(was)
	if !t.index.Insert(h, rid) {
		return errDuplicateKey
	}
	return nil
}

// settle forgets the values of a staged row to be fetched that a later change set.
func (t *table) settle(at int, row cdc.Row) {
	if len(t.unchanged) == 0 {
		return
	}
	kept := t.unchanged[:0]
	for _, u := range t.unchanged {
		if u.row != at || row[u.column].Kind == cdc.Unchanged {
			kept = append(kept, u)
		}
	}
	t.unchanged = kept
}

// delete lets a row die. If it was born in this epoch it is written all the
// same, but no snapshot sees it.
func (t *table) delete(old cdc.Row) error {
	h, err := t.hashOld(old)
	if err != nil {
		return err
	}
	rid := t.index.Delete(h)
	if rid == rowindex.None {
		return errMissingKey
	}
	t.deaths = append(t.deaths, rid)
	t.deleted = append(t.deleted, rid)
	return nil
}

// truncate forgets all rows. Those that are staged are not written.
func (t *table) truncate() {
	t.void()
	t.truncated = true
	t.index = rowindex.New()
}

// void gives up all rows of the index and all that is staged.
func (t *table) void() {
	for rid := range t.index.RowIDs() {
		t.voided = append(t.voided, rid)
	}
	t.voided = append(t.voided, t.deaths...)
	t.deaths, t.deleted = t.deaths[:0], t.deleted[:0]
	t.unchanged = t.unchanged[:0]
	t.rows.Reset()
	t.previous = t.previous[:0]
	clear(t.at)
}

// tableBatch is what one table gets in an epoch. Its order is: activation,
// truncation, rows and deaths, removal.
type tableBatch struct {
	table     *table
	activated *copied
	truncated bool
	voided    []uint32
	rows      *column.Rows
	previous  []uint32
	deaths    []uint32
	deleted   []uint32
	unchanged []unchanged
	removed   bool
	count     int // rows afterwards
}

// take hands over what is staged.
func (t *table) take() tableBatch {
	b := tableBatch{
		table: t, activated: t.activated, truncated: t.truncated, voided: t.voided, rows: t.rows,
		previous: t.previous, deaths: t.deaths, deleted: t.deleted, unchanged: t.unchanged, removed: t.removed, count: t.index.Len(),
	}
	t.rows, t.spare = t.spare, nil
	t.activated, t.truncated, t.voided, t.deaths, t.deleted, t.unchanged = nil, false, nil, nil, nil, nil
	t.previous = make([]uint32, 0, len(t.previous))
	t.touched = false
	const few = 4096 // a map keeps the size that it once had
	if len(t.at) > few {
		t.at = map[uint32]int{}
	} else {
		clear(t.at)
	}
	return b
}
