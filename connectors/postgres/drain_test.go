package postgres_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
)

// BenchmarkDrain measures a backlog of row changes from a real server to a handler that does nothing: the
// rate by the clock, which the server's decoding limits, and the rate per second of this process's CPU time.
func BenchmarkDrain(b *testing.B) {
	for _, rows := range []int{30, 100_000} {
		b.Run(fmt.Sprintf("transactions of %d", rows), func(b *testing.B) { drain(b, rows) })
	}
}

func drain(b *testing.B, perTransaction int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	url := stand.Postgres(b).URL("postgres")
	src, err := postgres.New(postgres.Config{URL: url})
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, `CREATE TABLE t (a int, b int, c bigint, d numeric(12,2), e text, f text, g timestamptz, h int, PRIMARY KEY (a, b))`); err != nil {
		b.Fatal(err)
	}
	if _, err := src.Tables(ctx); err != nil {
		b.Fatal(err)
	}
	const total = 300_000
	for b.Loop() {
		b.StopTimer()
		fill := fmt.Sprintf(`DO $$ BEGIN FOR i IN 1..%d LOOP
			INSERT INTO t SELECT g, i, g * 7, g + 0.25, 'text of ' || g, repeat('x', 30), now(), g %% 100 FROM generate_series(1, %d) g;
			COMMIT; END LOOP; END $$`, total/perTransaction, perTransaction)
		for _, sql := range []string{"TRUNCATE t", "SET synchronous_commit = off", fill} {
			if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		start, cpu := time.Now(), cpuTime()
		h := &countingHandler{}
		streaming, stop := context.WithCancel(ctx)
		h.done = func() {
			if h.changes.Load() >= total {
				stop()
			}
		}
		if err := src.Stream(streaming, cdc.Position{}, h); streaming.Err() == nil {
			b.Fatal(err)
		}
		stop()
		b.ReportMetric(total/time.Since(start).Seconds(), "changes/s")
		b.ReportMetric(total/(cpuTime()-cpu).Seconds(), "changes/cpu-s")
		src.Confirm(cdc.Position{Major: h.position.Load()})
	}
}

// cpuTime returns this process's.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
