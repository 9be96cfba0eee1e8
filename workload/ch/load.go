package ch

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

var (
	//go:embed schema.sql
	schemaSQL string
	//go:embed indexes.sql
	indexesSQL string
)

// Tables lists the benchmark's tables.
var Tables = []string{
	"warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock",
	"supplier", "nation", "region",
}

// WriteOrder lists the tables that transactions write, in the order in which every transaction first writes them. Whoever
// locks tables against writers in this order cannot deadlock with them.
var WriteOrder = []string{
	"district", "stock", "new_order", "orders", "order_line", "warehouse", "customer", "history",
}

// LoadConfig says what to load and where.
type LoadConfig struct {
	// DSN is the PostgreSQL database to load into. It must not hold the tables yet.
	DSN string
	// Warehouses is the scale; at least 1.
	Warehouses int
	// Seed determines the data together with Warehouses.
	Seed uint64
	// Workers is the number of connections that load at the same time; 2 if zero.
	Workers int
	// Progress, if set, is told from time to time how many of about total rows are loaded. Calls may be concurrent.
	Progress func(done, total int64)
}

// Load creates the schema and loads TPC-C's initial population and CH-benCHmark's
// additions, then builds the secondary indexes and gathers statistics.
func Load(ctx context.Context, cfg LoadConfig) error {
	if cfg.Warehouses < 1 {
		return fmt.Errorf("load CH-benCHmark: %d warehouses: want at least 1", cfg.Warehouses)
	}
	if err := execute(ctx, cfg.DSN, schemaSQL); err != nil {
		return fmt.Errorf("create CH-benCHmark schema: %w", err)
	}
	if err := copyUnits(ctx, cfg); err != nil {
		return err
	}
	if err := execute(ctx, cfg.DSN, indexesSQL); err != nil {
		return fmt.Errorf("create CH-benCHmark indexes: %w", err)
	}
	if err := execute(ctx, cfg.DSN, "VACUUM ANALYZE"); err != nil {
		return fmt.Errorf("analyze CH-benCHmark tables: %w", err)
	}
	return nil
}

// Warehouses returns how many warehouses the database at dsn holds; 0 if the schema is not there.
func Warehouses(ctx context.Context, dsn string) (int, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, fmt.Errorf("count warehouses: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var there bool
	if err := conn.QueryRow(ctx, "SELECT to_regclass('warehouse') IS NOT NULL").Scan(&there); err != nil || !there {
		return 0, err
	}
	var n int
	if err := conn.QueryRow(ctx, "SELECT count(*)::integer FROM warehouse").Scan(&n); err != nil {
		return 0, fmt.Errorf("count warehouses: %w", err)
	}
	return n, nil
}

func execute(ctx context.Context, dsn, sql string) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.PgConn().Exec(ctx, sql).ReadAll()
	return err
}

func copyUnits(ctx context.Context, cfg LoadConfig) error {
	all := units(cfg.Seed, cfg.Warehouses)
	var total, done atomic.Int64
	for _, u := range all {
		total.Add(int64(u.count))
	}
	progress := func(n int64) {
		if d := done.Add(n); cfg.Progress != nil {
			cfg.Progress(d, total.Load())
		}
	}
	queue := make(chan copyUnit, len(all))
	for _, u := range all {
		queue <- u
	}
	close(queue)
	g, ctx := errgroup.WithContext(ctx)
	workers := cfg.Workers
	if workers == 0 {
		workers = 2
	}
	for range workers {
		g.Go(func() error {
			conn, err := pgx.Connect(ctx, cfg.DSN)
			if err != nil {
				return fmt.Errorf("load CH-benCHmark: %w", err)
			}
			defer conn.Close(context.WithoutCancel(ctx))
			for u := range queue {
				if err := copyOne(ctx, conn, u, progress); err != nil {
					return fmt.Errorf("load table %s: %w", u.table, err)
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// copyOne streams one unit into the database. The generator runs in a goroutine that this call waits for.
func copyOne(ctx context.Context, conn *pgx.Conn, u copyUnit, progress func(int64)) error {
	const step = 10_000 // rows between calls of progress
	pr, pw := io.Pipe()
	var pending int64
	generated := make(chan error, 1)
	go func() {
		out := bufio.NewWriterSize(pw, 1<<16)
		r := &rows{out: out, count: func() {
			if pending++; pending == step {
				progress(pending)
				pending = 0
			}
		}}
		err := u.rows(r)
		if err == nil {
			err = out.Flush()
		}
		pw.CloseWithError(err) // nil means EOF
		generated <- err
	}()
	_, err := conn.PgConn().CopyFrom(ctx, pr, "COPY "+u.table+u.columns+" FROM STDIN")
	pr.CloseWithError(errors.New("copy ended"))
	genErr := <-generated
	switch {
	case ctx.Err() != nil: // which the connection tells as that it is closed
		return ctx.Err()
	case err != nil:
		return err
	case genErr != nil:
		return genErr
	case pending > 0:
		progress(pending)
	}
	return nil
}
