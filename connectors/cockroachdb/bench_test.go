package cockroachdb

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cockroachdb/changefeedtest"
)

// discard is a handler that only counts.
type discard struct {
	changes int
	done    func()
	until   cdc.Position
}

func (d *discard) Changes(_ context.Context, changes []cdc.Change) error {
	d.changes += len(changes)
	return nil
}
func (d *discard) Commit(context.Context, cdc.Commit) error         { return nil }
func (d *discard) Discovered(context.Context, cdc.Discovered) error { return nil }
func (d *discard) Dropped(context.Context, cdc.TableID) error       { return nil }
func (d *discard) Watermark(_ context.Context, w cdc.Watermark) error {
	if !w.Position.Before(d.until) {
		d.done()
	}
	return nil
}

// orderLine is a table as wide as TPC-C's order line.
func orderLine() *cdc.Table {
	column := func(name string, typ uint32, modifier int32) cdc.Column {
		return cdc.Column{Name: name, Type: typ, Modifier: modifier}
	}
	return &cdc.Table{ID: 7, Schema: "public", Name: "order_line", Key: []int{0, 1, 2, 3}, Columns: []cdc.Column{
		column("ol_w_id", pgtype.Int8OID, -1), column("ol_d_id", pgtype.Int8OID, -1), column("ol_o_id", pgtype.Int8OID, -1), column("ol_number", pgtype.Int8OID, -1),
		column("ol_i_id", pgtype.Int8OID, -1), column("ol_supply_w_id", pgtype.Int8OID, -1), column("ol_delivery_d", pgtype.TimestampOID, -1),
		column("ol_quantity", pgtype.Int8OID, -1), column("ol_amount", pgtype.NumericOID, 4+6<<16+2), column("ol_dist_info", pgtype.BPCharOID, 28)}}
}

// straight is a broker that hands over what there is, as fast as it is taken.
type straight struct{ memoryReader }

func (s *straight) poll(_ context.Context, take func(*kgo.Record) error) error {
	const most = 2000
	for topic, parts := range s.next {
		for p, o := range parts {
			records := s.m.topics[topic].parts[p].records
			for n := 0; n < most && o < int64(len(records)); n++ {
				if err := take(records[o]); err != nil {
					return err
				}
				o++
			}
			parts[p] = o
		}
	}
	return nil
}

// BenchmarkStream measures from messages in memory to changes handed over: decoding, waiting, sorting, cutting. Half of the changes are
// inserts, half updates with the row before, so that the messages are twice as long.
func BenchmarkStream(b *testing.B) {
	for name, envelope := range map[string]changefeedtest.Envelope{"wrapped": changefeedtest.Wrapped, "enriched": changefeedtest.Enriched} {
		b.Run(name, func(b *testing.B) { benchmarkStream(b, envelope) })
	}
}

func benchmarkStream(b *testing.B, envelope changefeedtest.Envelope) {
	const rows = 200_000
	m := newMemory(rand.New(rand.NewPCG(1, 1)).IntN)
	bytes := 0
	feed := changefeedtest.New(1, changefeedtest.Config{Envelope: envelope, Job: "1", Send: func(x changefeedtest.Message) {
		bytes += len(x.Value)
		m.send(x)
	}})
	table := orderLine()
	topic := "shop.public.order_line"
	feed.Topic(topic, 4)
	at := cdc.Position{Major: historyBegins}
	for i := 0; i < rows; {
		at.Major += 1_000_000
		tx := changefeedtest.Transaction{At: at}
		for range 10 {
			w := changefeedtest.Write{Topic: topic, Key: fmt.Appendf(nil, "[%d, %d, %d, %d]", i%10, i%7, i, i%15)}
			line := func(delivered string) []byte {
				return fmt.Appendf(nil, `{"ol_amount": %d.%02d, "ol_d_id": %d, "ol_delivery_d": %s, "ol_dist_info": "JXAQaBcdEfGhIjKlMnOpQrSt", "ol_i_id": %d, "ol_number": %d, "ol_o_id": %d, "ol_quantity": 5, "ol_supply_w_id": %d, "ol_w_id": %d}`,
					i%9999, i%100, i%7, delivered, i%100000, i%15, i, i%10, i%10)
			}
			w.After = line("null")
			if i%2 == 1 {
				w.Before, w.After = w.After, line(`"2026-11-20T10:00:00.123456"`)
			}
			tx.Writes = append(tx.Writes, w)
			i++
		}
		feed.Commit(tx)
		for feed.Waiting() > 300 {
			feed.Send()
		}
		if i%2000 == 0 {
			feed.Resolve(1)
		}
	}
	for feed.Send() {
	}
	feed.Resolve(1)
	db := &fakeDatabase{now: cdc.Position{Major: 2 * historyBegins}, feed: Changefeed{Job: "1"}, tables: []cdc.Discovered{{Table: table}}}
	cfg, err := Config{Database: db, CatalogInterval: time.Hour, SpoolDir: b.TempDir()}.withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	before := cpuSeconds(b)
	for b.Loop() {
		src, err := newSource(cfg, func() (broker, error) {
			return &straight{memoryReader{m: m, next: map[string]map[int32]int64{}}}, nil
		})
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		if _, err := src.Tables(ctx); err != nil {
			b.Fatal(err)
		}
		d := &discard{done: cancel, until: at}
		if err := src.Stream(ctx, cdc.Position{Major: historyBegins}, d); d.changes != rows {
			b.Fatalf("%d changes, error %v", d.changes, err)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(rows)*float64(b.N)/(cpuSeconds(b)-before), "rows/cpu-s")
	b.ReportMetric(float64(bytes)/rows, "bytes/row")
}

// cpuSeconds is what the process has used of processors, the garbage collector's share included: on a busy machine that
// says more than the time that passed.
func cpuSeconds(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
