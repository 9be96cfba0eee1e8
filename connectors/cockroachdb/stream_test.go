package cockroachdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cockroachdb/changefeedtest"
)

// second is a timestamp n seconds after the tests' beginning.
func second(n int) cdc.Position { return cdc.Position{Major: historyBegins + uint64(n)*1e9} }

// scene is a changefeed of which a test writes every message, in topics of one partition.
type scene struct {
	t   *testing.T
	m   *memory
	db  *fakeDatabase
	src *Source
}

func newScene(t *testing.T, tables ...cdc.Discovered) *scene {
	s := &scene{t: t, m: newMemory(func(n int) int { return n - 1 }), db: &fakeDatabase{tables: tables, feed: Changefeed{Job: "1"}, now: cdc.Position{Major: math.MaxInt64}}}
	s.src = s.newSource()
	return s
}

func (s *scene) newSource(options ...func(*Config)) *Source {
	s.t.Helper()
	cfg := Config{Database: s.db, CatalogInterval: time.Hour, SpoolDir: s.t.TempDir()}
	for _, o := range options {
		o(&cfg)
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		s.t.Fatal(err)
	}
	src, err := newSource(cfg, s.m.open)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := src.Tables(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return src
}

// row sends a row; empty objects are null. written is the timestamp of a scanned row's version, or 0.
func (s *scene) row(table string, id int, before, after string, at, written int) {
	or := func(v, null string) string {
		if v == "" {
			return null
		}
		return v
	}
	if written == 0 {
		written = at
	}
	s.raw(table, 0, fmt.Sprintf("[%d]", id), fmt.Sprintf(`{"after": %s, "before": %s, "updated": "%s", "mvcc_timestamp": "%s"}`,
		or(after, "null"), or(before, "null"), formatHLC(second(at)), formatHLC(second(written))), at)
}

func (s *scene) resolve(table string, at int) {
	s.raw(table, 0, "", fmt.Sprintf(`{"resolved": "%s"}`, formatHLC(second(at))), at)
}

func (s *scene) raw(table string, partition int32, key, value string, at int) {
	m := changefeedtest.Message{Topic: "shop.public." + table, Partition: partition, Value: []byte(value), Sent: hlcTime(second(at))}
	if key != "" {
		m.Key = []byte(key)
	}
	s.m.send(m)
}

// play streams until a watermark; acts happen after theirs.
func (s *scene) play(from, until int, acts map[int]func()) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	x := &playing{transcript: transcript{until: second(until), done: cancel}, s: s, acts: acts}
	err := s.src.Stream(ctx, second(from), x)
	if ctx.Err() != nil && s.t.Context().Err() == nil && errors.Is(err, context.Canceled) {
		err = nil
	}
	return x.String(), err
}

// playing is a transcript that copies what is discovered, at the position that the database says.
type playing struct {
	transcript
	s    *scene
	acts map[int]func()
}

func (x *playing) Watermark(ctx context.Context, w cdc.Watermark) error {
	err := x.transcript.Watermark(ctx, w)
	for n, act := range x.acts {
		if !w.Position.Before(second(n)) {
			delete(x.acts, n)
			act()
		}
	}
	return err
}

func (x *playing) Discovered(ctx context.Context, d cdc.Discovered) error {
	if err := x.transcript.Discovered(ctx, d); err != nil || d.Stopped != nil {
		return err
	}
	_, err := x.s.src.Copy(ctx, []cdc.TableID{d.Table.ID}, &collector{})
	return err
}

// copiesAt makes copies at a time.
func (s *scene) copiesAt(n int) {
	s.db.copied = func(ctx context.Context, tables []*cdc.Table, sink cdc.CopySink) (cdc.Position, error) {
		return second(n), sink.Begin(ctx, second(n), tables)
	}
}

// table has the key id and text columns.
func table(id int, name string, columns ...string) cdc.Discovered {
	t := &cdc.Table{ID: cdc.TableID(id), Schema: "public", Name: name, Key: []int{0}, Columns: []cdc.Column{{Name: "id", Type: pgtype.Int8OID, NotNull: true, Modifier: -1}}}
	for _, c := range columns {
		t.Columns = append(t.Columns, cdc.Column{Name: c, Type: pgtype.TextOID, Modifier: -1})
	}
	return cdc.Discovered{Table: t}
}

func wantTranscript(t *testing.T, want, got string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v\n%s", err, got)
	}
	lines := strings.Join(strings.Fields(want), " ")
	if diff := cmp.Diff(lines, strings.Join(strings.Fields(strings.ReplaceAll(got, "17636328", "")), " ")); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, got)
	}
}

func TestStream_stopsATableWhoseMessagesCannotBeRead(t *testing.T) {
	s := newScene(t, table(1, "t", "a"), table(2, "other", "a"))
	s.raw("t", 0, "[1]", `{"after": {"id": 1, "a": NaN}, "before": null, "updated": "1763632805000000000.0000000000"}`, 5)
	s.resolve("t", 10)
	s.resolve("other", 10)
	got, err := s.play(0, 20, map[int]func(){10: func() { s.resolve("other", 20) }})
	wantTranscript(t, `watermark 10000000000.0000000000 discovered t, 2 columns, stopped: true watermark 20000000000.0000000000`, got, err)
}

func TestStream_copiesATableAnewThatWasScanned(t *testing.T) {
	s := newScene(t, table(1, "t", "a"))
	s.row("t", 1, "", `{"id": 1, "a": "x"}`, 10, 3) // an initial scan at 10 of a version written at 3
	s.resolve("t", 12)
	s.copiesAt(11)
	got, err := s.play(5, 20, map[int]func(){12: func() {
		s.row("t", 1, "", `{"id": 1, "a": "x"}`, 10, 3) // again
		s.row("t", 1, `{"id": 1, "a": "x"}`, "", 15, 0)
		s.resolve("t", 20)
	}})
	wantTranscript(t, `truncate t commit 10000000000.0000000000 watermark 12000000000.0000000000 discovered t, 2 columns, stopped: false
		delete t id=1 commit 15000000000.0000000000 watermark 20000000000.0000000000`, got, err)
}

func TestStream_addsAndDropsTables(t *testing.T) {
	s := newScene(t, table(1, "t", "a"))
	s.resolve("t", 10)
	change := func(tables ...cdc.Discovered) {
		s.db.tables = tables
		if err := s.src.follow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	polls := 0
	s.m.more = func() {
		if polls++; polls == 5 { // until then the new topic holds the cut
			s.resolve("late", 19)
		}
	}
	got, err := s.play(0, 40, map[int]func(){10: func() {
		change(table(1, "t", "a"), table(2, "late", "a"))
		s.copiesAt(15)
		s.row("late", 1, "", `{"id": 1, "a": "after the copy"}`, 18, 0)
		s.row("t", 1, "", `{"id": 1, "a": "x"}`, 20, 0)
		s.resolve("t", 30)
	}, 19: func() {
		change(table(1, "t", "a"))
		s.row("late", 2, "", `{"id": 2, "a": "of a table that is gone"}`, 20, 0)
		s.resolve("t", 40)
	}})
	wantTranscript(t, `watermark 10000000000.0000000000 discovered late, 2 columns, stopped: false
		insert late id=1 a=after the copy commit 18000000000.0000000000 watermark 19000000000.0000000000 dropped 2
		insert t id=1 a=x commit 20000000000.0000000000 watermark 40000000000.0000000000`, got, err)
}

func TestStream_reportsWhatIsMissing(t *testing.T) {
	base := func(t *testing.T) *scene {
		s := newScene(t, table(1, "t", "a"))
		for n := range 30 {
			s.resolve("t", n)
		}
		return s
	}
	for name, c := range map[string]struct {
		do   func(s *scene)
		from int
		want cdc.Code
	}{
		"expired": {func(s *scene) { s.m.topics["shop.public.t"].parts[0].start = 25 }, 20, cdc.CodeHistoryLost},
		"expired, bookmark": {func(s *scene) {
			s.bookmarkEnd()
			s.m.topics["shop.public.t"].parts[0].start = 35
		}, 29, cdc.CodeHistoryLost},
		"cut off, bookmark": {func(s *scene) {
			s.bookmarkEnd()
			s.m.topics["shop.public.t"].parts[0].records = s.m.topics["shop.public.t"].parts[0].records[:5]
		}, 29, cdc.CodeHistoryLost},
		"topic created anew": {func(s *scene) {
			s.bookmarkEnd()
			s.m.topics["shop.public.t"].id = [16]byte{99}
		}, 29, cdc.CodeHistoryLost},
		"topic gone": {func(s *scene) {
			s.bookmarkEnd()
			delete(s.m.topics, "shop.public.t")
		}, 29, cdc.CodeHistoryLost},
		"changefeed begins later": {func(s *scene) { s.db.feed = Changefeed{Job: "2", Start: second(21)} }, 20, cdc.CodeHistoryLost},
		"no changefeed":           {func(s *scene) { s.db.feed = Changefeed{} }, 20, cdc.CodeChangefeedStopped},
		"changefeed failed":       {func(s *scene) { s.db.feed.State = ChangefeedEnded }, 20, cdc.CodeChangefeedStopped},
		"another cluster":         {func(s *scene) { s.db.now = second(19) }, 20, cdc.CodeSourceMismatch},
		"no diff": {func(s *scene) {
			s.raw("t", 0, "[1]", `{"after": {"id": 1}, "updated": "1763632820000000000.0000000000"}`, 20)
		}, 5, cdc.CodeConfiguration},
		"no updated":       {func(s *scene) { s.raw("t", 0, "[1]", `{"after": {"id": 1}, "before": null}`, 20) }, 5, cdc.CodeConfiguration},
		"another envelope": {func(s *scene) { s.raw("t", 0, "[1]", `{"id": 1, "a": "x"}`, 20) }, 5, cdc.CodeConfiguration},
		"no key": {func(s *scene) {
			s.raw("t", 0, "", `{"after": {"id": 1}, "before": null, "updated": "1763632820000000000.0000000000"}`, 20)
		}, 5, cdc.CodeConfiguration},
		"topic deleted while it was read": {func(s *scene) { s.m.more = func() { s.dropWhenRead() } }, 5, cdc.CodeHistoryLost},
	} {
		t.Run(name, func(t *testing.T) {
			s := base(t)
			c.do(s)
			_, err := s.play(c.from, 1000, nil)
			if terminal, ok := errors.AsType[*cdc.TerminalError](err); !ok || terminal.Code != c.want || terminal.Remedy == "" {
				t.Errorf("error %v, want %s with a remedy", err, c.want)
			}
		})
	}
}

// dropWhenRead replaces the topic by an empty one and makes the other cut possible, after the first poll.
func (s *scene) dropWhenRead() {
	if topic := s.m.topics["shop.public.t"]; len(topic.parts[0].records) > 30 {
		topic.id = [16]byte{42}
	}
	s.resolve("t", 40+len(s.m.topics["shop.public.t"].parts[0].records))
}

// bookmarkEnd reads all that there is, up to 29, and gives the bookmark to the next source.
func (s *scene) bookmarkEnd() {
	s.t.Helper()
	if got, err := s.play(0, 29, nil); err != nil {
		s.t.Fatalf("%v\n%s", err, got)
	}
	b := s.src.Bookmark(second(29))
	if b == nil {
		s.t.Fatal("there is no bookmark")
	}
	s.src = s.newSource()
	if err := s.src.Restore(b); err != nil {
		s.t.Fatal(err)
	}
}

func TestStream_goesOnWithAChangefeedThatLeavesNothingOut(t *testing.T) {
	s := newScene(t, table(1, "t", "a"))
	s.resolve("t", 10)
	got, err := s.play(0, 20, map[int]func(){10: func() {
		// The one before was read up to 10; the new one emits what is after 8, and was created at 12.
		s.db.feed = Changefeed{Job: "2", Start: second(8), Created: hlcTime(second(12))}
		if err := s.src.checkChangefeed(t.Context(), second(0)); err != nil {
			t.Error(err)
		}
		s.resolve("t", 20)
	}})
	wantTranscript(t, "watermark 10000000000.0000000000 watermark 20000000000.0000000000", got, err)
	s.db.feed = Changefeed{Job: "3", Start: second(21), Created: hlcTime(second(22))}
	var terminal *cdc.TerminalError
	if err := s.src.checkChangefeed(t.Context(), second(0)); !errors.As(err, &terminal) || terminal.Code != cdc.CodeHistoryLost {
		t.Errorf("error %v of a changefeed that left out what was committed between 20 and 21", err)
	}
}

func TestStream_handsOverALargeTransactionInBoundedMemory(t *testing.T) {
	const rows = 300_000
	s := newScene(t, table(1, "t", "a"))
	src := s.newSource(func(c *Config) { c.MemoryBytes = 4 << 20 })
	m := &straightRows{rows: rows, random: rand.New(rand.NewPCG(5, 5))}
	src.open = func() (broker, error) { return m, nil }
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h := &largest{discard: discard{done: cancel, until: second(1)}}
	err := src.Stream(ctx, second(0), h)
	if h.changes != rows || h.commits != 1 || h.most > 1000 {
		t.Fatalf("%d changes in %d transactions, at most %d in one call, error %v", h.changes, h.commits, h.most, err)
	}
	t.Logf("the heap grew to %d MB, %d MB of messages were read", h.heap>>20, m.taken>>20)
	if h.heap > 64<<20 {
		t.Errorf("the heap grew to %d MB, want 64 at most", h.heap>>20)
	}
}

// largest is a handler that counts, and looks at the heap now and then.
type largest struct {
	discard
	commits, most int
	heap          uint64
}

func (l *largest) Changes(ctx context.Context, changes []cdc.Change) error {
	l.most = max(l.most, len(changes))
	if l.changes/50_000 != (l.changes+len(changes))/50_000 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		l.heap = max(l.heap, m.HeapAlloc)
	}
	return l.discard.Changes(ctx, changes)
}

func (l *largest) Commit(context.Context, cdc.Commit) error {
	l.commits++
	return nil
}

// straightRows is a broker with one transaction, whose rows it makes as they are read, in no order.
type straightRows struct {
	memoryReader
	rows, made int
	random     *rand.Rand
	taken      int64
}

func (b *straightRows) describe(context.Context, []string) (map[string]topicInfo, error) {
	return map[string]topicInfo{"shop.public.t": {partitions: 1}}, nil
}

func (b *straightRows) locate(context.Context, string, time.Time) (map[int32]extent, error) {
	return map[int32]extent{0: {}}, nil
}

func (b *straightRows) read(map[string]map[int32]int64) {}

func (b *straightRows) poll(_ context.Context, take func(*kgo.Record) error) error {
	for range 1000 {
		r := &kgo.Record{Topic: "shop.public.t", Offset: int64(b.made)}
		if b.made == b.rows {
			r.Value = fmt.Appendf(nil, `{"resolved": "%s"}`, formatHLC(second(1)))
			return take(r)
		}
		id := (b.made * 7919) % b.rows // each once: 7,919 is prime to the number of rows
		r.Key = fmt.Appendf(nil, "[%d]", id)
		r.Value = fmt.Appendf(nil, `{"after": {"id": %d, "a": "%0100d"}, "before": null, "updated": "%s"}`, id, b.random.IntN(1e9), formatHLC(second(1)))
		if err := take(r); err != nil {
			return err
		}
		b.made++
		b.taken += int64(len(r.Value))
	}
	return nil
}
