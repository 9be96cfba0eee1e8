package jsonrow

import (
	"errors"
	"testing"

	"github.com/go-faster/jx"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// plain decodes scalars and null.
type plain struct{ scalars Scalars }

func (p *plain) Append(d *jx.Decoder, col *cdc.Column, b []byte) ([]byte, cdc.DatumKind, error) {
	if d.Next() == jx.Null {
		return b, cdc.Null, d.Null()
	}
	b, err := p.scalars.Append(d, col, b)
	return b, cdc.Binary, err
}

var things = &cdc.Table{ID: 1, Schema: "public", Name: "things", Key: []int{0, 2}, Columns: []cdc.Column{
	{Name: "a", Type: pgtype.Int2OID, NotNull: true}, {Name: "b", Type: pgtype.TextOID, NotNull: true},
	{Name: "c", Type: pgtype.Int2OID, NotNull: true}, {Name: "d", Type: pgtype.TextOID},
}}

func TestDecoder_takesColumnsInAnyOrder(t *testing.T) {
	want := cdc.Row{{Kind: cdc.Binary, Data: []byte{0, 1}}, {Kind: cdc.Binary, Data: []byte("x")}, {Kind: cdc.Binary, Data: []byte{0, 2}}, {Kind: cdc.Null}}
	key := cdc.Row{want[0], {}, want[2], {}}
	dec := NewDecoder(&plain{})
	for _, object := range []string{
		`{"a":1,"b":"x","c":2,"d":null}`, `{"d":null,"c":2,"b":"x","a":1}`, `{"a":1,"b":"x","c":2,"d":null}`, `{"b":"x","d":null,"a":1,"c":2}`,
	} {
		row, err := dec.Row(things, []byte(object))
		if diff := cmp.Diff(want, row); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", object, err, diff)
		}
		row, err = dec.Key(things, []byte(object))
		if diff := cmp.Diff(key, row); err != nil || diff != "" {
			t.Errorf("key of %s: error %v (-want +got):\n%s", object, err, diff)
		}
	}
}

func TestDecoder_refusesWhatIsNotTheTablesRow(t *testing.T) {
	const row, image, key = 1, 2, 4
	for object, accepted := range map[string]int{
		`{"a":1,"b":"x","c":2,"d":"y"}`:         row | image | key,
		`{"a":1,"b":null,"c":2,"d":null}`:       image | key,
		`{"a":1,"b":"x","c":null,"d":null}`:     image,
		`{"a":1,"c":2}`:                         key,
		`{"a":1,"c":2,"e":3}`:                   key,
		`{"a":1,"b":"x","c":2,"d":"y","e":"z"}`: key,
		`{"a":40000,"b":"x","c":2,"d":"y"}`:     0,
		`{"a":1,"b":"x","c":2,"d":`:             0,
		`[]`:                                    0,
	} {
		dec := NewDecoder(&plain{})
		got := 0
		for way, decode := range map[int]func(*cdc.Table, []byte) (cdc.Row, error){row: dec.Row, image: dec.Image, key: dec.Key} {
			if _, err := decode(things, []byte(object)); err == nil {
				got |= way
			}
		}
		if got != accepted {
			t.Errorf("%s: accepted as %03b, want %03b", object, got, accepted)
		}
	}
	if _, err := NewDecoder(&plain{}).Row(things, nil); !errors.Is(err, ErrMisfit) {
		t.Errorf("no row at all: error %v", err)
	}
}

func TestDecoder_keepsRowsUntilReset(t *testing.T) {
	dec := NewDecoder(&plain{})
	var rows []cdc.Row
	const n = 3 * slabDatums / 4 // several slabs
	for range n {
		row, err := dec.Row(things, []byte(`{"a":1,"b":"a longer text than the number before it","c":2,"d":"y"}`))
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	for i, row := range rows {
		if string(row[1].Data) != "a longer text than the number before it" || row[2].Data[1] != 2 {
			t.Fatalf("row %d became %q", i, row)
		}
	}
	dec.Void(things)
	if !dec.Full(1) || len(dec.Changes[0].Table.Columns) != 0 {
		t.Errorf("kept %v", dec.Changes)
	}
	dec.Reset()
	if dec.Full(1) {
		t.Error("it is full after a reset")
	}
}
