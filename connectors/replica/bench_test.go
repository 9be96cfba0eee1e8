package replica_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// lines is like TPC-C's order lines.
func lines() *cdc.Table {
	t := &cdc.Table{ID: 9, Schema: "public", Name: "order_line", Key: []int{2, 1, 0, 3}}
	for i, name := range []string{"ol_o_id", "ol_d_id", "ol_w_id", "ol_number", "ol_i_id", "ol_supply_w_id", "ol_quantity"} {
		t.Columns = append(t.Columns, cdc.Column{Name: name, Type: int4, Modifier: -1, NotNull: true, Attr: int16(i + 1)})
	}
	t.Columns = append(t.Columns,
		cdc.Column{Name: "ol_amount", Type: numeric, Modifier: 6<<16 + 2 + 4, NotNull: true, Attr: 8},
		cdc.Column{Name: "ol_delivery_d", Type: 1114, Modifier: -1, Attr: 9},
		cdc.Column{Name: "ol_dist_info", Type: bpchar, Modifier: 28, NotNull: true, Attr: 10})
	return t
}

func line(i int, delivered string) cdc.Row {
	return datums(row{strconv.Itoa(i / 10 % 3000), strconv.Itoa(i / 30000 % 10), strconv.Itoa(i / 300000), strconv.Itoa(i % 10),
		strconv.Itoa(i * 7919 % 100000), "1", "5", fmt.Sprintf("%d.%02d", i%1000, i%100), delivered, "abcdefghijklmnopqrstuvwx"})
}

// feed is a source of order lines that hands over what it is told.
type feed struct {
	table *cdc.Table
	rows  int
	txs   chan []cdc.Change
	large int // rows that the next transaction inserts as well
}

// inserts makes the next thousand insertions.
func (f *feed) inserts(from int) []cdc.Change {
	changes := make([]cdc.Change, 1000)
	for i := range changes {
		changes[i] = cdc.Change{Table: f.table, Op: cdc.Insert, New: line(from+i, null)}
	}
	return changes
}

func (f *feed) Tables(context.Context) ([]cdc.Discovered, error) {
	return []cdc.Discovered{{Table: f.table}}, nil
}

func (f *feed) Copy(ctx context.Context, _ []cdc.TableID, sink cdc.CopySink) (cdc.Position, error) {
	at := cdc.Position{Major: 1}
	if err := sink.Begin(ctx, at, []*cdc.Table{f.table}); err != nil {
		return at, err
	}
	for i := range f.rows {
		if err := sink.Rows(ctx, f.table, []cdc.Row{line(i, null)}); err != nil {
			return at, err
		}
	}
	return at, sink.Done(ctx, f.table)
}

func (f *feed) Stream(ctx context.Context, from cdc.Position, h cdc.Handler) error {
	at := from
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case changes := <-f.txs:
			for rest := changes; len(rest) > 0; rest = rest[min(1000, len(rest)):] {
				if err := h.Changes(ctx, rest[:min(1000, len(rest))]); err != nil {
					return err
				}
			}
			for from := benchRows; from < benchRows+f.large; from += 1000 {
				if err := h.Changes(ctx, f.inserts(from)); err != nil {
					return err
				}
			}
			f.large = 0
			at.Major++
			if err := h.Commit(ctx, cdc.Commit{Position: at, Time: time.Now()}); err != nil {
				return err
			}
		}
	}
}

func (f *feed) Current(context.Context) (cdc.Position, error) { return cdc.Position{Major: 1}, nil }
func (f *feed) Confirm(cdc.Position)                          {}

// cpuSeconds returns the CPU time of this process and of the engine.
func cpuSeconds(b *testing.B, engine int) float64 {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	own := time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", engine))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	const userTicks, systemTicks, ticks = 11, 12, 100
	user, _ := strconv.Atoi(fields[userTicks])
	system, _ := strconv.Atoi(fields[systemTicks])
	return own + float64(user+system)/ticks
}

const benchRows = 600_000

func benchReplica(b *testing.B, change func(*replica.Config)) (*gateway, *feed, int) {
	b.Helper()
	server := testEngine(b)
	src := &feed{table: lines(), rows: benchRows, txs: make(chan []cdc.Change, 64)}
	g := newGateway(b, server, "freshet", testPassword, src, change)
	if err := g.start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := g.stop(); err != nil {
			b.Error(err)
		}
	})
	for {
		changed := g.r.Changed()
		s, err := g.acquire(b.Context(), replica.Request{})
		if err != nil {
			b.Fatal(err)
		}
		_, ready := s.Table(9)
		s.Release()
		if ready {
			return g, src, server.PID()
		}
		await(b.Context(), b, changed)
	}
}

// update makes a transaction of n scattered deliveries.
func update(t *cdc.Table, at *int, n int) []cdc.Change {
	changes := make([]cdc.Change, n)
	for i := range changes {
		*at = (*at + 7919) % benchRows
		changes[i] = cdc.Change{Table: t, Op: cdc.Update, New: line(*at, "2026-11-20 12:00:00.5")}
	}
	return changes
}

// BenchmarkReplica_apply measures changed rows per CPU-second of gateway and
// engine together, with compaction, in transactions of ten rows.
func BenchmarkReplica_apply(b *testing.B) {
	g, src, pid := benchReplica(b, nil)
	at := 0
	const rows = 10
	var txs [][]cdc.Change
	for range 2000 {
		txs = append(txs, update(src.table, &at, rows))
	}
	cpu := cpuSeconds(b, pid)
	n, first := 0, g.position(b)
	for b.Loop() {
		src.txs <- txs[n%len(txs)]
		n++
	}
	s, err := g.acquire(b.Context(), replica.Request{Min: cdc.Position{Major: first.Major + uint64(n)}})
	if err != nil {
		b.Fatal(err)
	}
	s.Release()
	b.ReportMetric(float64(n*rows)/(cpuSeconds(b, pid)-cpu), "rows/cpu-s")
	b.ReportMetric(float64(n*rows)/b.Elapsed().Seconds(), "rows/s")
}

func (g *gateway) position(b *testing.B) cdc.Position {
	s, err := g.acquire(b.Context(), replica.Request{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Release()
	return s.Position()
}

// BenchmarkReplica_epoch measures an epoch of 500 changes from the arrival to the snapshot.
func BenchmarkReplica_epoch(b *testing.B) {
	g, src, _ := benchReplica(b, nil)
	at := 0
	p := g.position(b)
	for b.Loop() {
		src.txs <- update(src.table, &at, 500)
		p.Major++
		s, err := g.acquire(b.Context(), replica.Request{Min: p})
		if err != nil {
			b.Fatal(err)
		}
		s.Release()
	}
}

// BenchmarkReplica_scan compares scans of a snapshot under updates with the same on a plain merged table.
func BenchmarkReplica_scan(b *testing.B) {
	g, src, _ := benchReplica(b, func(c *replica.Config) { c.CompactInterval = time.Hour })
	at, p := 0, g.position(b)
	for range 100 {
		src.txs <- update(src.table, &at, 100)
		p.Major++
		s, err := g.acquire(b.Context(), replica.Request{Min: p})
		if err != nil {
			b.Fatal(err)
		}
		s.Release()
	}
	s, err := g.acquire(b.Context(), replica.Request{Min: p})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Release()
	conn, err := engine.Dial(b.Context(), engine.Config{Addr: g.cfg.Addr, User: g.cfg.User, Password: g.cfg.Password})
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	copyToPlain(b, conn, s, src.table)
	for _, q := range []struct {
		name, sql string
		columns   []string
	}{
		{"sum", "SELECT toUInt64(sum(ol_amount)) AS n FROM %s", []string{"ol_amount"}},
		{"group", "SELECT toUInt64(max(s)) AS n FROM (SELECT sum(ol_amount) AS s FROM %s WHERE ol_quantity < 9 GROUP BY ol_number)",
			[]string{"ol_amount", "ol_quantity", "ol_number"}},
		{"distinct", "SELECT uniqExact(ol_i_id) AS n FROM %s", []string{"ol_i_id"}},
	} {
		relation, _ := s.Relation(9, q.columns)
		b.Run(q.name, func(b *testing.B) {
			times := func(from string) time.Duration {
				began := time.Now()
				if _, err := conn.Count(b.Context(), fmt.Sprintf(q.sql, from)); err != nil {
					b.Fatal(err)
				}
				return time.Since(began)
			}
			var plain, live []time.Duration
			for b.Loop() {
				plain, live = append(plain, times("plain.lines")), append(live, times(relation))
			}
			slices.Sort(plain)
			slices.Sort(live)
			b.ReportMetric(float64(live[len(live)/2])/float64(plain[len(plain)/2]), "times-plain")
		})
	}
}

// copyToPlain copies what the snapshot has of the table into a merged table.
func copyToPlain(b *testing.B, conn *engine.Conn, s *replica.Snapshot, table *cdc.Table) {
	b.Helper()
	var names []string
	for _, c := range table.Columns {
		names = append(names, c.Name)
	}
	all, _ := s.Relation(9, names)
	for _, sql := range []string{
		"CREATE DATABASE plain", "CREATE TABLE plain.lines ENGINE = MergeTree ORDER BY (ol_w_id, ol_d_id, ol_o_id, ol_number) AS SELECT * FROM " + all,
		"OPTIMIZE TABLE plain.lines FINAL",
	} {
		if err := conn.Exec(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplica_millionRows measures one transaction of a million rows and
// the most memory that the process had, the 600,000 rows that were there included.
func BenchmarkReplica_millionRows(b *testing.B) {
	g, src, _ := benchReplica(b, nil)
	const rows = 1_000_000
	p := g.position(b)
	b.ResetTimer()
	for n := 0; n < b.N; n++ {
		if n > 0 {
			b.Fatal("run it with -benchtime 1x: the keys are the same")
		}
		at := 0
		src.large = rows
		src.txs <- update(src.table, &at, 10)
		p.Major++
		s, err := g.acquire(b.Context(), replica.Request{Min: p})
		if err != nil {
			b.Fatal(err)
		}
		if got := s.RowsEstimate(9); got != benchRows+rows {
			b.Errorf("%d rows, want %d", got, benchRows+rows)
		}
		s.Release()
	}
	b.StopTimer()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(peak, &kib); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(kib/1024, "peak-MiB")
}
