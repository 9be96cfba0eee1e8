package cockroachdb

import (
	"fmt"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/jsonrow"
)

// decoder turns rows into changes.
type decoder struct{ *jsonrow.Decoder }

func newDecoder() decoder { return decoder{jsonrow.NewDecoder(&values{})} }

// add decodes a row's change and keeps it. An error means that it does not fit the definition; nothing is kept then.
func (dec decoder) add(t *cdc.Table, r *row) error {
	c := cdc.Change{Table: t}
	var err error
	switch r.flags & (flagBefore | flagAfter) {
	case flagBefore | flagAfter:
		c.Op = cdc.Update
		c.New, err = dec.Row(t, r.data)
	case flagAfter:
		c.Op = cdc.Insert
		c.New, err = dec.Row(t, r.data)
	case flagBefore:
		c.Op = cdc.Delete
		c.Old, err = dec.Key(t, r.data)
	default:
		return nil // made and deleted in one transaction
	}
	if err != nil {
		return fmt.Errorf("table %s: %w", t.FullName(), err)
	}
	dec.Changes = append(dec.Changes, c)
	return nil
}
