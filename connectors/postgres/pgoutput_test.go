package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// message builds pgoutput messages as PostgreSQL does.
type message []byte

func (m message) u8(v byte) message    { return append(m, v) }
func (m message) u16(v int) message    { return binary.BigEndian.AppendUint16(m, uint16(v)) }
func (m message) u32(v uint32) message { return binary.BigEndian.AppendUint32(m, v) }
func (m message) u64(v uint64) message { return binary.BigEndian.AppendUint64(m, v) }
func (m message) str(s string) message { return append(append(m, s...), 0) }

func (m message) tuple(kind byte, values ...any) message {
	m = m.u8(kind).u16(len(values))
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			m = m.u8('n')
		case cdc.DatumKind:
			m = m.u8('u')
		case string:
			m = append(m.u8('b').u32(uint32(len(v))), v...)
		}
	}
	return m
}

func encodeBegin(commitLSN uint64) message {
	return message{kindBegin}.u64(commitLSN).u64(0).u32(1)
}

func encodeCommit(end uint64, micros uint64) message {
	return message{kindCommit}.u8(0).u64(end - 8).u64(end).u64(micros)
}

func encodeRelation(id uint32, schema, name string, identity byte, columns ...string) message {
	m := message{kindRelation}.u32(id).str(schema).str(name).u8(identity).u16(len(columns))
	for _, c := range columns {
		m = m.u8(1).str(c).u32(25).u32(^uint32(0))
	}
	return m
}

// recorder is a handler that keeps copies of what it gets.
type recorder struct{ log []string }

func (r *recorder) Changes(_ context.Context, changes []cdc.Change) error {
	for _, c := range changes {
		r.log = append(r.log, fmt.Sprintf("%d %s old=%s new=%s", c.Op, c.Table.Name, describe(c.Old), describe(c.New)))
	}
	return nil
}

func describe(row cdc.Row) string {
	var b bytes.Buffer
	for _, d := range row {
		switch d.Kind {
		case cdc.Absent:
			b.WriteString("-,")
		case cdc.Null:
			b.WriteString("NULL,")
		case cdc.Unchanged:
			b.WriteString("same,")
		default:
			fmt.Fprintf(&b, "%s,", d.Data)
		}
	}
	return b.String()
}

func (r *recorder) Commit(_ context.Context, c cdc.Commit) error {
	r.log = append(r.log, fmt.Sprintf("commit %s %s", c.Position, c.Time.UTC().Format(time.RFC3339Nano)))
	return nil
}

func (r *recorder) Watermark(_ context.Context, w cdc.Watermark) error {
	r.log = append(r.log, "watermark "+w.Position.String())
	return nil
}

func (r *recorder) Discovered(_ context.Context, d cdc.Discovered) error {
	r.log = append(r.log, "discovered "+d.Table.Name)
	return nil
}

func (r *recorder) Dropped(_ context.Context, id cdc.TableID) error {
	r.log = append(r.log, fmt.Sprint("dropped ", id))
	return nil
}

// offlineStream is a stream without a server that knows table t (id 7: a and c text, key a) and f (id 8, REPLICA IDENTITY FULL).
func offlineStream(tb testing.TB, h cdc.Handler, limit int) *stream {
	tb.Helper()
	m, err := newMetrics(nil)
	if err != nil {
		tb.Fatal(err)
	}
	cfg, err := Config{URL: "unused"}.withDefaults()
	if err != nil {
		tb.Fatal(err)
	}
	src := &Source{cfg: cfg, log: cfg.Logger, metrics: m, registry: newRegistry()}
	for id, t := range map[uint32]struct {
		name     string
		identity byte
	}{7: {"t", 'd'}, 8: {"f", 'f'}} {
		_, s, err := parseRelation(encodeRelation(id, "public", t.name, t.identity, "a", "b", "c")[1:])
		if err != nil {
			tb.Fatal(err)
		}
		src.registry.put(&definition{shape: s, table: &cdc.Table{
			ID: cdc.TableID(id), Schema: "public", Name: t.name, Key: []int{0},
			Columns: []cdc.Column{{Name: "a", Type: 25, NotNull: true}, {Name: "b", Type: 25}, {Name: "c", Type: 25}},
		}})
	}
	src.registry.giveAll()
	return &stream{src: src, conn: &replConn{}, h: h, relations: map[cdc.TableID]*relation{}, batch: newBatch(limit)}
}

func (st *stream) play(messages ...message) error {
	for _, m := range messages {
		if err := st.change(context.Background(), m); err != nil {
			return err
		}
	}
	return nil
}

func TestStream_decodesEveryKindOfChange(t *testing.T) {
	t.Parallel()
	var h recorder
	st := offlineStream(t, &h, 1000)
	st.from = 100
	change := func(kind byte, id uint32) message { return message{kind}.u32(id) }
	err := st.play(
		encodeBegin(50), encodeRelation(7, "public", "t", 'd', "a", "b", "c"),
		change(kindInsert, 7).tuple('N', "skipped", nil, nil), encodeCommit(99, 0),
		encodeBegin(120), encodeRelation(8, "public", "f", 'f', "a", "b", "c"), message{kindOrigin}.u64(1).str("o"),
		change(kindInsert, 7).tuple('N', "1", nil, ""),
		change(kindUpdate, 7).tuple('N', "1", cdc.Unchanged, "x"),
		change(kindUpdate, 7).tuple('K', "1", nil, nil).tuple('N', "2", "y", "x"),
		change(kindUpdate, 7).tuple('K', "long", nil, nil).tuple('N', cdc.Unchanged, "y", "x"),
		change(kindDelete, 7).tuple('K', "2", nil, nil),
		change(kindUpdate, 8).tuple('O', "1", "big", "x").tuple('N', "1", cdc.Unchanged, "z"),
		change(kindUpdate, 8).tuple('O', "1", "big", "x").tuple('N', "3", cdc.Unchanged, nil),
		change(kindDelete, 8).tuple('O', "3", "big", nil),
		message{kindTruncate}.u32(2).u8(1).u32(7).u32(8),
		encodeCommit(128, 1_000_001),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"1 t old= new=1,NULL,,",
		"2 t old= new=1,same,x,",
		"2 t old=1,-,-, new=2,y,x,",
		"2 t old= new=long,y,x,",
		"3 t old=2,-,-, new=",
		"2 f old= new=1,big,z,",
		"2 f old=1,-,-, new=3,big,NULL,",
		"3 f old=3,-,-, new=",
		"4 t old= new=", "4 f old= new=",
		"commit 0/80 0001-01-01T00:00:00Z",
	}
	if diff := cmp.Diff(want, h.log); diff != "" {
		t.Errorf("handed over (-want +got):\n%s", diff)
	}
}

func TestStream_keepsRowsIntactHoweverItChunks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 300_000), 1, 40).Draw(rt, "sizes")
		limit := rapid.IntRange(1, 10).Draw(rt, "limit")
		var h recorder
		st := offlineStream(t, &h, limit)
		messages := []message{encodeBegin(8), encodeRelation(7, "public", "t", 'd', "a", "b", "c")}
		var want []string
		for i, size := range values {
			if i%3 != 0 {
				size %= 50
			}
			v := string(bytes.Repeat([]byte{byte('a' + i%26)}, size))
			messages = append(messages, message{kindInsert}.u32(7).tuple('N', fmt.Sprint(i), v, nil))
			want = append(want, fmt.Sprintf("1 t old= new=%d,%s,NULL,", i, v))
		}
		want = append(want, "commit 0/10 2000-01-01T00:00:00Z")
		if err := st.play(append(messages, encodeCommit(16, 0))...); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, h.log); diff != "" {
			rt.Fatalf("handed over (-want +got):\n%s", diff)
		}
	})
}

func TestPgTime_reachesBeyondADuration(t *testing.T) {
	t.Parallel()
	if got := pgTime(9_000_000_000_000_000).UTC().Year(); got != 2285 {
		t.Errorf("year %d, want 2285", got)
	}
	if got := pgTime(-1).UTC(); !got.Equal(pgEpoch.Add(-time.Microsecond)) {
		t.Errorf("one microsecond before the epoch is %s", got)
	}
}

// FuzzDecoder feeds arbitrary messages: any of them may fail, none may panic or read beyond its end.
func FuzzDecoder(f *testing.F) {
	for _, m := range []message{
		encodeBegin(1), encodeCommit(16, 1), encodeRelation(9, "", "x", 'i', "a", "b"),
		message{kindInsert}.u32(7).tuple('N', "1", nil, "v"),
		message{kindUpdate}.u32(7).tuple('K', "1", nil, nil).tuple('N', "2", cdc.Unchanged, "v"),
		message{kindDelete}.u32(8).tuple('O', "1", "x", nil),
		message{kindTruncate}.u32(1).u8(0).u32(7), message{kindType}.u32(1), {kindInsert}, {},
	} {
		f.Add([]byte(m))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		st := offlineStream(t, &recorder{}, 3)
		_ = st.play(encodeBegin(8), encodeRelation(7, "public", "t", 'd', "a", "b", "c"), encodeRelation(8, "public", "f", 'f', "a", "b", "c"))
		if len(data) > 0 && data[0] == kindRelation {
			_, _, _ = parseRelation(data[1:]) // a description that differs asks the catalog, which is not here
			return
		}
		_ = st.change(context.Background(), data)
		_ = st.change(context.Background(), data)
		_ = st.play(encodeCommit(16, 0))
	})
}

func FuzzRowScanner(f *testing.F) {
	header := append(append([]byte{}, copySignature...), make([]byte, 8)...)
	f.Add(append(header, 0, 1, 0, 0, 0, 1, 'x', 255, 255), 3)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		s := &rowScanner{columns: 1, deliver: func([]cdc.Row) error { return nil }}
		cut = max(0, min(cut, len(data)))
		for _, part := range [][]byte{data[:cut], data[cut:]} {
			if _, err := s.Write(part); err != nil {
				return
			}
		}
		_ = s.finish()
	})
}

func TestRowScanner_findsRowsHoweverTheBytesAreCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		data := append(append([]byte{}, copySignature...), make([]byte, 8)...)
		var want []string
		for i := range rapid.IntRange(0, 5000).Draw(rt, "rows") {
			v := fmt.Sprint("value ", i)
			data = append(binary.BigEndian.AppendUint32(append(data, 0, 2), uint32(len(v))), v...)
			data = binary.BigEndian.AppendUint32(data, ^uint32(0))
			want = append(want, v+",NULL,")
		}
		data = append(data, 255, 255)
		var got []string
		s := &rowScanner{columns: 2, deliver: func(rows []cdc.Row) error {
			for _, row := range rows {
				got = append(got, describe(row))
			}
			return nil
		}}
		for len(data) > 0 {
			n := min(len(data), rapid.IntRange(1, 20_000).Draw(rt, "piece"))
			if _, err := s.Write(data[:n]); err != nil {
				rt.Fatal(err)
			}
			data = data[n:]
		}
		if err := s.finish(); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestRowScanner_refusesDataThatEndsEarly(t *testing.T) {
	t.Parallel()
	s := &rowScanner{columns: 1, deliver: func([]cdc.Row) error { return nil }}
	if _, err := s.Write(append(append([]byte{}, copySignature...), 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := s.finish(); !errors.Is(err, errCopyFormat) {
		t.Errorf("error %v", err)
	}
}

func TestServerFacts_recordEndIsNeverInsideAPageHeader(t *testing.T) {
	t.Parallel()
	f := serverFacts{walBlock: 8192, walSegment: 16 << 20}
	for lsn, want := range map[uint64]uint64{
		3 * 8192: 3 * 8192, 3*8192 + 24: 3 * 8192, 3*8192 + 40: 3*8192 + 40, 2<<24 + 40: 2 << 24, 2<<24 + 48: 2<<24 + 48,
	} {
		if got := f.recordEnd(lsn); got != want {
			t.Errorf("record end of %X is %X, want %X", lsn, got, want)
		}
	}
}

// discard is a handler that does nothing.
type discard struct{}

func (discard) Changes(context.Context, []cdc.Change) error      { return nil }
func (discard) Commit(context.Context, cdc.Commit) error         { return nil }
func (discard) Watermark(context.Context, cdc.Watermark) error   { return nil }
func (discard) Discovered(context.Context, cdc.Discovered) error { return nil }
func (discard) Dropped(context.Context, cdc.TableID) error       { return nil }

// BenchmarkDecode measures updates of a 10-column row in transactions of 30, from message to handler.
func BenchmarkDecode(b *testing.B) {
	st := offlineStream(b, discard{}, 1000)
	names := []string{"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"}
	rel := encodeRelation(9, "public", "wide", 'd', names...)
	_, s, err := parseRelation(rel[1:])
	if err != nil {
		b.Fatal(err)
	}
	table := &cdc.Table{ID: 9, Schema: "public", Name: "wide", Key: []int{0, 1}, Columns: make([]cdc.Column, len(names))}
	st.src.registry.put(&definition{shape: s, table: table})
	st.src.registry.giveAll()
	update := message{kindUpdate}.u32(9).tuple('N', "1234", "5678", "12345678", "0123456789abcdef", "some text", "more text here", nil, "87654321", "1234", "x")
	if err := st.play(rel); err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	begin, commit := encodeBegin(8), encodeCommit(16, 0)
	b.SetBytes(int64(len(update)))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i%30 == 0 {
			if err := st.change(ctx, begin); err != nil {
				b.Fatal(err)
			}
		}
		if err := st.change(ctx, update); err != nil {
			b.Fatal(err)
		}
		if i%30 == 29 {
			if err := st.change(ctx, commit); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "changes/s")
}
