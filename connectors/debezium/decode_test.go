package debezium

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/jsonrow"
	"github.com/freshet-io/freshet/connectors/replica/column"
)

// update is a message as Debezium 3.7.0.Final writes it.
const update = `{"before":null,"after":{"id":2,"cust":7,"total":"100.00","note":"a \"b\" é","at":"2026-11-20T21:50:17.023781Z"},` +
	`"source":{"version":"3.7.0.Final","connector":"postgresql","name":"shop","ts_ms":1795211417037,"snapshot":"false","db":"postgres",` +
	`"sequence":"[\"23045256\",\"23045608\"]","ts_us":1795211417037440,"ts_ns":1795211417037440000,"schema":"public","table":"orders",` +
	`"txId":992,"lsn":23045608,"xmin":null,"origin":null,"origin_lsn":null},"transaction":{"id":"992:23045608","total_order":2,"data_collection_order":2},` +
	`"op":"u","ts_ms":1795211417604,"ts_us":1795211417604496,"ts_ns":1795211417604496892}`

const end = `{"status":"END","id":"992:23045944","event_count":5,"data_collections":[{"data_collection":"public.orders","event_count":3},{"data_collection":"public.orders","event_count":1},` +
	`{"data_collection":"io.debezium.connector.postgresql.LogicalDecodingMessageMonitor$LogicalDecodingMessageId@3600dbe9","event_count":1}],"ts_ms":1795211417037}`

var orders = &cdc.Table{ID: 1, Schema: "public", Name: "orders", Key: []int{0}, Columns: []cdc.Column{
	{Name: "id", Type: pgtype.Int4OID, NotNull: true}, {Name: "cust", Type: pgtype.Int8OID}, {Name: "total", Type: pgtype.NumericOID, Modifier: 12<<16 | 2 + 4},
	{Name: "note", Type: pgtype.TextOID}, {Name: "at", Type: pgtype.TimestamptzOID},
}}

func TestEnvelope_isReadFromTheSamples(t *testing.T) {
	var e envelopeDecoder
	row, err := e.row([]byte(update))
	if err != nil {
		t.Fatal(err)
	}
	if row.txID != 992 || row.order != 2 || row.op != opUpdate || row.micros != 1795211417037440 || row.before != nil || !bytes.HasPrefix(row.after, []byte(`{"id":2`)) {
		t.Errorf("got %+v", row)
	}
	if again, err := e.row([]byte(update)); err != nil || again.table != row.table || row.table.Schema != "public" || row.table.Name != "orders" {
		t.Errorf("it is of table %+v, and once more of %+v, error %v", row.table, again.table, err)
	}
	replicated, err := e.row([]byte(strings.Replace(update, `"origin":null`, `"origin":"elsewhere"`, 1)))
	if err != nil || row.replicated || !replicated.replicated {
		t.Errorf("by replication came the one: %t, and the other: %t, error %v", row.replicated, replicated.replicated, err)
	}
	ev, ended, err := e.boundary([]byte(end))
	if err != nil || !ended {
		t.Fatal(ended, err)
	}
	want := endEvent{txID: 992, position: cdc.Position{Major: 23045944}, millis: 1795211417037, counts: []rowCount{{"public.orders", 4}}}
	if diff := cmp.Diff(want, ev, cmp.AllowUnexported(endEvent{}, rowCount{})); diff != "" {
		t.Errorf("END (-want +got):\n%s", diff)
	}
	if ev.String() != "992:23045944" {
		t.Errorf("it prints as %s", ev)
	}
}

func TestEnvelope_refuseswhatItCannotRelyOn(t *testing.T) {
	var e envelopeDecoder
	for name, message := range map[string]string{
		"no transaction":   `{"before":null,"after":{},"op":"c","transaction":null}`,
		"no table":         `{"op":"c","source":{"schema":"public"},"transaction":{"id":"992:1","total_order":1}}`,
		"no op":            `{"schema":{},"payload":{}}`,
		"half a message":   update[:len(update)-1],
		"another id":       `{"op":"c","transaction":{"id":"992","total_order":1}}`,
		"row is no object": `{"op":"c","after":1,"source":{"table":"t"},"transaction":{"id":"1:1","total_order":1}}`,
	} {
		if _, err := e.row([]byte(message)); err == nil {
			t.Errorf("%s: it was accepted", name)
		}
	}
	if _, _, err := e.boundary([]byte(`{"status":"MIDDLE","id":"1:1"}`)); err == nil {
		t.Error("an unknown status was accepted")
	}
}

func TestDecoder_saysWhichRowsDoNotFit(t *testing.T) {
	for name, after := range map[string]string{
		"a column more":        `{"id":1,"cust":1,"total":"1.00","note":"","at":null,"extra":1}`,
		"a column less":        `{"id":1,"cust":1,"total":"1.00","note":""}`,
		"another name":         `{"id":1,"cust":1,"total":"1.00","remark":"","at":null}`,
		"a number too large":   `{"id":2147483648,"cust":1,"total":"1.00","note":"","at":null}`,
		"text for a number":    `{"id":"1","cust":1,"total":"1.00","note":"","at":null}`,
		"another scale":        `{"id":1,"cust":1,"total":"1.000","note":"","at":null}`,
		"no number":            `{"id":1,"cust":1,"total":"1.x0","note":"","at":null}`,
		"no time":              `{"id":1,"cust":1,"total":"1.00","note":"","at":"noon"}`,
		"the row is cut short": `{"id":1,"cust":1,`,
	} {
		dec := newDecoder()
		if err := dec.add(orders, storedRow{op: opCreate, after: []byte(after)}); err == nil || len(dec.Changes) != 0 {
			t.Errorf("%s: error %v, %d changes kept", name, err, len(dec.Changes))
		}
	}
	dec := newDecoder()
	if err := dec.add(orders, storedRow{op: opDelete, before: []byte(`{"id":null}`)}); err == nil {
		t.Error("a delete without a key was accepted")
	}
}

func TestDecoder_standsForAChangedKeyByOneUpdate(t *testing.T) {
	dec := newDecoder()
	row := `{"id":%d,"cust":1,"total":null,"note":"` + placeholder + `","at":null}`
	for _, ev := range []storedRow{
		{op: opDelete, keyChanges: true, before: []byte(`{"id":1}`)},
		{op: opCreate, oldKey: []byte(`{"id":1}`), after: fmt.Appendf(nil, row, 2)},
	} {
		if err := dec.add(orders, ev); err != nil {
			t.Fatal(err)
		}
	}
	if len(dec.Changes) != 1 {
		t.Fatalf("%d changes, want 1", len(dec.Changes))
	}
	c := dec.Changes[0]
	if c.Op != cdc.Update || !bytes.Equal(c.Old[0].Data, []byte{0, 0, 0, 1}) || c.Old[3].Kind != cdc.Absent || c.New[3].Kind != cdc.Unchanged || c.New[2].Kind != cdc.Null {
		t.Errorf("got %+v", c)
	}
}

func TestDecoder_takesTheKeyThatPostgreSQLTold(t *testing.T) {
	row := []byte(`{"id":1,"cust":1,"total":null,"note":"","at":null}`)
	left := storedRow{order: 1, op: opDelete, keyChanges: true, before: []byte(`{"id":7,"cust":null}`)}
	for order, accepted := range map[uint64]bool{2: true, 3: false} {
		dec := newDecoder()
		if err := dec.add(orders, left); err != nil {
			t.Fatal(err)
		}
		err := dec.add(orders, storedRow{order: order, op: opCreate, oldKey: []byte(`{"cust":1}`), after: row})
		if (err == nil) != accepted || accepted && !bytes.Equal(dec.Changes[0].Old[0].Data, []byte{0, 0, 0, 7}) {
			t.Errorf("change %d after the delete 1: error %v, changes %+v", order, err, dec.Changes)
		}
	}
}

func TestInstant_isExactOverAllYears(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-210_866_803_200_000_000, 9_224_318_015_999_999).Draw(t, "micros")).UTC()
		text := at.Format("-01-02T15:04:05.000000Z")
		switch year := at.Year(); {
		case year < 0:
			text = fmt.Sprintf("-%04d%s", -year, text)
		case year > 9999:
			text = fmt.Sprintf("+%d%s", year, text)
		default:
			text = fmt.Sprintf("%04d%s", year, text)
		}
		b, err := appendInstant(nil, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got, want := int64(binary.BigEndian.Uint64(b)), at.UnixMicro()-pgEpochMicros; got != want {
			t.Fatalf("%s: got %d, want %d", text, got, want)
		}
	})
	for _, text := range []string{"", "2026", "2026-02-30T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01 00:00:00Z",
		"2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00.1234567Z", "2026-01-01T00:00:00+01:00"} {
		if _, err := appendInstant(nil, []byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestChar_isOneByte(t *testing.T) {
	for text, want := range map[string]string{"": "\x00", "x": "x", `\`: `\`, `\303`: "\xc3", `\377`: "\xff"} {
		if got, err := appendChar(nil, []byte(text)); err != nil || string(got) != want {
			t.Errorf("%q: got %q, error %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"xy", "\ufffd", `\3`, `\400`, `\38x`, `x303`} {
		if got, err := appendChar(nil, []byte(text)); !errors.Is(err, jsonrow.ErrMisfit) {
			t.Errorf("%q: got %q, error %v", text, got, err)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(update))
	f.Add([]byte(end))
	f.Add([]byte(`{"op":"c","after":{"id":1,"cust":-1,"total":"-0.00","note":"\ud83d\ude00","at":"-infinity"},"source":{"schema":"public","table":"orders"},"transaction":{"id":"1:1","total_order":1}}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		var e envelopeDecoder
		_, _, _ = e.boundary(message)
		ev, err := e.row(message)
		if err != nil {
			return
		}
		r := run{}
		r.add(storedRow{order: ev.order, op: ev.op, before: ev.before, after: ev.after})
		rd, err := r.reader()
		if err != nil || !rd.ok || rd.row.op != ev.op || !bytes.Equal(rd.row.after, ev.after) || !bytes.Equal(rd.row.before, ev.before) {
			t.Fatalf("the row came back as %+v, error %v", rd.row, err)
		}
		dec := newDecoder()
		if err := dec.add(orders, rd.row); err != nil && len(dec.Changes) > 0 {
			t.Fatal("a change that does not fit was kept")
		}
		for _, c := range dec.Changes {
			if c.New != nil && len(c.New) != len(orders.Columns) || c.Old != nil && len(c.Old) != len(orders.Columns) {
				t.Fatalf("a row has %d and %d columns", len(c.New), len(c.Old))
			}
		}
	})
}

// BenchmarkMessagesToColumns measures what one core does between the fetched message and the staged columns: envelopes, transactions of
// 20 rows, values, columns encoded for the engine. It counts CPU time, so that what else runs does not matter much.
func BenchmarkMessagesToColumns(b *testing.B) {
	const perTransaction, perBlock = 20, 20_000
	a, dec := newAssembler(cdc.Position{}, b.TempDir(), 64<<20), newDecoder()
	staged, err := column.NewRows(orders)
	if err != nil {
		b.Fatal(err)
	}
	var e envelopeDecoder
	var block proto.Buffer
	messages := make([][]byte, perTransaction)
	for i := range messages {
		messages[i] = bytes.Replace([]byte(update), []byte(`"total_order":2`), fmt.Appendf(nil, `"total_order":%d`, i+1), 1)
	}
	b.SetBytes(int64(len(update)))
	rows := 0
	before := cpuTime(b)
	for b.Loop() {
		ev, err := e.row(messages[rows%perTransaction])
		if err != nil {
			b.Fatal(err)
		}
		ev.txID = uint64(rows / perTransaction)
		if err := a.row(&arrival{partition: rows % 3, rowEvent: ev}); err != nil {
			b.Fatal(err)
		}
		rows++
		if rows%perTransaction != 0 {
			continue
		}
		a.end(endEvent{txID: ev.txID, position: cdc.Position{Major: uint64(rows)}, counts: []rowCount{{"public.orders", perTransaction}}})
		_, t, _, _ := a.head()
		if err := t.each(func(_ *tableName, row storedRow) error { return dec.add(orders, row) }); err != nil {
			b.Fatal(err)
		}
		a.pop()
		for i := range dec.Changes {
			if err := staged.Append(uint32(rows+i), dec.Changes[i].New); err != nil {
				b.Fatal(err)
			}
		}
		dec.Reset()
		if staged.Len() >= perBlock {
			for _, c := range staged.Columns {
				c.EncodeColumn(&block)
			}
			staged.Reset()
			block.Reset()
		}
	}
	b.ReportMetric(float64(rows)/(cpuTime(b)-before).Seconds(), "changes/cpu-s")
}

// cpuTime is the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
