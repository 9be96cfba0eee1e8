package cockroachdb

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cockroachdb/changefeedtest"
)

// numeric122 is the type modifier of DECIMAL(12, 2).
const numeric122 = 4 + 12<<16 + 2

// sampleTables are the tables of the sample messages; orders has its column entry in the wrapped ones only.
func sampleTables(entry bool) []cdc.Discovered {
	column := func(name string, typ uint32, modifier int32) cdc.Column {
		return cdc.Column{Name: name, Type: typ, Modifier: modifier}
	}
	orders := &cdc.Table{ID: 1, Schema: "public", Name: "orders", Key: []int{0, 1}, Columns: []cdc.Column{column("w_id", pgtype.Int8OID, -1), column("o_id", pgtype.Int8OID, -1),
		column("c_id", pgtype.Int8OID, -1), column("total", pgtype.NumericOID, numeric122)}}
	if entry {
		orders.Columns = append(orders.Columns, column("entry", pgtype.TimestamptzOID, -1))
	}
	lines := &cdc.Table{ID: 2, Schema: "public", Name: "lines", Key: []int{0, 1, 2}, Columns: []cdc.Column{column("w_id", pgtype.Int8OID, -1), column("o_id", pgtype.Int8OID, -1),
		column("number", pgtype.Int8OID, -1), column("i_id", pgtype.Int8OID, -1), column("amount", pgtype.NumericOID, numeric122)}}
	if entry {
		return []cdc.Discovered{{Table: orders}, {Table: lines}}
	}
	return []cdc.Discovered{{Table: orders}}
}

// transcript is a handler that writes down what it gets, until a watermark.
type transcript struct {
	bytes.Buffer
	until cdc.Position
	done  func()
}

func (x *transcript) Changes(_ context.Context, changes []cdc.Change) error {
	for _, c := range changes {
		fmt.Fprintf(x, "%s %s", [...]string{"", "insert", "update", "delete", "truncate"}[c.Op], c.Table.Name)
		for _, row := range []cdc.Row{c.Old, c.New} {
			for i, d := range row {
				if d.Kind != cdc.Absent {
					fmt.Fprintf(x, " %s=%s", c.Table.Columns[i].Name, show(c.Table.Columns[i], d))
				}
			}
		}
		x.WriteByte('\n')
	}
	return nil
}

func (x *transcript) Commit(_ context.Context, c cdc.Commit) error {
	fmt.Fprintf(x, "commit %s\n", formatHLC(c.Position))
	return nil
}

func (x *transcript) Watermark(_ context.Context, w cdc.Watermark) error {
	fmt.Fprintf(x, "watermark %s\n", formatHLC(w.Position))
	if !w.Position.Before(x.until) {
		x.done()
	}
	return nil
}

func (x *transcript) Discovered(_ context.Context, d cdc.Discovered) error {
	fmt.Fprintf(x, "discovered %s, %d columns, stopped: %t\n", d.Table.Name, len(d.Table.Columns), d.Stopped != nil)
	return nil
}

func (x *transcript) Dropped(_ context.Context, id cdc.TableID) error {
	fmt.Fprintf(x, "dropped %d\n", id)
	return nil
}

// show prints a value in PostgreSQL's text format, by a decoder that is not this package's.
func show(c cdc.Column, d cdc.Datum) string {
	if d.Kind == cdc.Null {
		return "NULL"
	}
	if c.Enum {
		return string(d.Data)
	}
	types := pgtype.NewMap()
	var v any
	if c.Type == pgtype.NumericOID {
		var n pgtype.Numeric
		if err := types.Scan(c.Type, pgtype.BinaryFormatCode, d.Data, &n); err != nil {
			return err.Error()
		}
		text, err := types.Encode(c.Type, pgtype.TextFormatCode, n, nil)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s (scale %d)", text, int(d.Data[6])<<8|int(d.Data[7]))
	}
	t, ok := types.TypeForOID(c.Type)
	if !ok {
		return fmt.Sprintf("%x", d.Data)
	}
	v, err := t.Codec.DecodeValue(types, c.Type, pgtype.BinaryFormatCode, d.Data)
	if err != nil {
		return err.Error()
	}
	if at, isTime := v.(time.Time); isTime {
		return at.UTC().Format(time.RFC3339Nano)
	}
	if m, isMap := v.(map[string]any); isMap {
		return fmt.Sprintf("%s %v", d.Data[1:], m)
	}
	return fmt.Sprint(v)
}

// load puts the sample messages into memory, in their order.
func load(t *testing.T, file string, m *memory) {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var line struct {
			Topic      string
			Partition  int32
			Key, Value json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if string(line.Key) == "null" {
			line.Key = nil
		}
		m.send(changefeedtest.Message{Topic: line.Topic, Partition: line.Partition, Key: line.Key, Value: line.Value, Sent: time.Unix(1763632801, 0)})
	}
}

// transcribe streams what memory has until a watermark.
func transcribe(t *testing.T, m *memory, db *fakeDatabase, from, until cdc.Position) string {
	t.Helper()
	cfg, err := Config{Database: db, CatalogInterval: time.Hour, SpoolDir: t.TempDir()}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	src, err := newSource(cfg, m.open)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := src.Tables(ctx); err != nil {
		t.Fatal(err)
	}
	x := &transcript{until: until, done: cancel}
	if err := src.Stream(ctx, from, x); ctx.Err() == nil {
		t.Fatalf("%v\n%s", err, x)
	}
	return x.String()
}

func hlc(t *testing.T, text string) cdc.Position {
	t.Helper()
	p, err := parseHLC(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStream_readsTheSamplesOfTheWrappedEnvelope(t *testing.T) {
	m := newMemory(func(n int) int { return n - 1 })
	load(t, "wrapped.jsonl", m)
	db := &fakeDatabase{tables: sampleTables(true), feed: Changefeed{Job: "1"}, now: cdc.Position{Major: math.MaxInt64}}
	from := hlc(t, "1763632800000000000.0000000000")
	want := `insert orders w_id=1 o_id=7 c_id=42 total=120.50 (scale 2) entry=2026-11-20T10:00:00.123456Z
insert lines w_id=1 o_id=7 number=1 i_id=9 amount=12.05 (scale 2)
commit 1763632800123456789.0000000000
watermark 1763632800140000000.0000000000
`
	if diff := cmp.Diff(want, transcribe(t, m, db, from, hlc(t, "1763632800140000000.0000000000"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Then everything is resolved.
	for _, p := range []changefeedtest.Message{{Topic: "shop.public.orders"}, {Topic: "shop.public.lines"}, {Topic: "shop.public.lines", Partition: 1}} {
		p.Value = []byte(`{"resolved":"1763632801000000000.0000000000"}`)
		m.send(p)
	}
	want = `insert orders w_id=1 o_id=7 c_id=42 total=120.50 (scale 2) entry=2026-11-20T10:00:00.123456Z
insert lines w_id=1 o_id=7 number=1 i_id=9 amount=12.05 (scale 2)
commit 1763632800123456789.0000000000
update orders w_id=1 o_id=7 c_id=42 total=99.00 (scale 2) entry=2026-11-20T10:00:00.123456Z
commit 1763632800200000000.0000000003
delete orders w_id=1 o_id=7
commit 1763632801000000000.0000000000
watermark 1763632801000000000.0000000000
`
	if diff := cmp.Diff(want, transcribe(t, m, db, from, hlc(t, "1763632801000000000.0000000000"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStream_readsTheSamplesOfTheEnrichedEnvelope(t *testing.T) {
	m := newMemory(func(n int) int { return n - 1 })
	load(t, "enriched.jsonl", m)
	db := &fakeDatabase{tables: sampleTables(false), feed: Changefeed{Job: "1072079179268751361"}, now: cdc.Position{Major: math.MaxInt64}}
	want := `insert orders w_id=1 o_id=7 c_id=42 total=120.50 (scale 2)
commit 1763632800123456789.0000000000
delete orders w_id=1 o_id=7
commit 1763632801000000000.0000000002
watermark 1763632801500000000.0000000000
`
	if diff := cmp.Diff(want, transcribe(t, m, db, hlc(t, "1763632800000000000.0000000000"), hlc(t, "1763632801500000000.0000000000"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
