//go:build kafka

package debezium_test

import (
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/e2e/stand"
)

// BenchmarkCommitToHandler measures from the acknowledgement of a commit until the handler has it, one commit at a time
// and with nothing else in the pipeline: Debezium, the broker and this source, latency and not throughput.
func BenchmarkCommitToHandler(b *testing.B) {
	bed := newTestbed(b, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)")
	m := sourcetest.NewModel()
	m.Start(b, bed.newSource())
	if err := m.CatchUpAndCompare(bed.url); err != nil {
		b.Fatal(err)
	}
	ctx := stand.Within(b, 5*time.Minute)
	conn, err := pgx.Connect(ctx, bed.url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	var took []time.Duration
	for b.Loop() {
		if _, err := conn.Exec(ctx, "UPDATE t SET v = v + 1"); err != nil {
			b.Fatal(err)
		}
		start := time.Now()
		if err := m.CatchUp(ctx); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
