package debezium

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/jsonrow"
)

// decoder turns rows into changes.
type decoder struct {
	*jsonrow.Decoder
	left *leftRow
}

// leftRow is the row of the last delete that stands for a part of a change of the key.
type leftRow struct {
	table  cdc.TableID
	order  uint64
	before []byte
}

func newDecoder() decoder { return decoder{jsonrow.NewDecoder(&values{}), &leftRow{}} }

// add decodes a change of a table and keeps it. An error means that the change does not
// fit the definition; nothing is kept then.
func (dec decoder) add(t *cdc.Table, ev storedRow) error {
	c, ok, err := dec.change(t, ev)
	if err != nil {
		return fmt.Errorf("table %s: %w", t.FullName(), err)
	}
	if ok {
		dec.Changes = append(dec.Changes, c)
	}
	return nil
}

// change decodes one event. ok is false for the delete that Debezium writes before the create of a row whose
// key changed: the create names the old key and stands for both.
func (dec decoder) change(t *cdc.Table, ev storedRow) (c cdc.Change, ok bool, err error) {
	c.Table = t
	switch ev.op {
	case opTruncate:
		c.Op = cdc.Truncate
		return c, true, nil
	case opDelete:
		if ev.keyChanges {
			*dec.left = leftRow{t.ID, ev.order, append(dec.left.before[:0], ev.before...)}
			return c, false, nil
		}
		c.Op = cdc.Delete
		c.Old, err = dec.Key(t, ev.before)
		return c, err == nil, err
	case opCreate, opUpdate:
	default:
		return c, false, fmt.Errorf("%w: operation %q is not one of a stream", jsonrow.ErrMisfit, ev.op)
	}
	if c.New, err = dec.Row(t, ev.after); err != nil {
		return c, false, err
	}
	c.Op = cdc.Insert
	switch {
	case ev.oldKey != nil:
		c.Op = cdc.Update
		if c.Old, err = dec.Key(t, ev.oldKey); err != nil {
			c.Old, err = dec.leftKey(t, ev.order, err)
		}
	case ev.op == opUpdate:
		c.Op = cdc.Update
		if ev.before != nil {
			c.Old, err = dec.reconcile(t, ev.before, c.New)
		}
	}
	return c, err == nil, err
}

// leftKey returns the key that a row had before from the delete that goes first. Where a table's replica identity is another index than its primary
// key, the key that Debezium gives is not the one that PostgreSQL told. why is returned where that delete was of another row.
func (dec decoder) leftKey(t *cdc.Table, order uint64, why error) (cdc.Row, error) {
	if dec.left.table != t.ID || dec.left.order+1 != order {
		return nil, why
	}
	return dec.Key(t, dec.left.before)
}

// reconcile takes values that the new row left out from the old one, which is whole under REPLICA
// IDENTITY FULL, and returns the old key if it changed.
func (dec decoder) reconcile(t *cdc.Table, before []byte, row cdc.Row) (cdc.Row, error) {
	old, err := dec.Image(t, before)
	if err != nil {
		return nil, err
	}
	changed := false
	for i := range row {
		if row[i].Kind == cdc.Unchanged && old[i].Kind == cdc.Binary {
			row[i] = old[i]
		}
		if !slices.Contains(t.Key, i) {
			old[i] = cdc.Datum{}
			continue
		}
		if old[i].Kind != cdc.Binary {
			return nil, nil // made up: the key did not change
		}
		changed = changed || !bytes.Equal(row[i].Data, old[i].Data)
	}
	if !changed {
		return nil, nil
	}
	return old, nil
}
