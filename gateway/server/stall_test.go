package server_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// stalled reads from the gateway's metrics how many queries' clients do not read on.
func (g *gateway) stalled() int {
	g.t.Helper()
	for line := range strings.Lines(g.metrics()) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "freshet_batch_stalled_queries "); ok {
			n, err := strconv.Atoi(value)
			if err != nil {
				g.t.Fatal(err)
			}
			return n
		}
	}
	g.t.Fatal("the gateway does not tell how many queries stall")
	return 0
}

// awaitStalled waits until so many clients do not read on.
func (g *gateway) awaitStalled(want int) {
	g.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); g.stalled() != want; <-tick.C {
		if time.Now().After(deadline) {
			g.t.Fatalf("%d queries stall, want %d", g.stalled(), want)
		}
	}
}

// TestStall_clientsThatDoNotReadHoldNobodyUp has more clients stop reading than the engine has slots.
func TestStall_clientsThatDoNotReadHoldNobodyUp(t *testing.T) {
	t.Parallel()
	const rows = 300
	g := start(t, "CREATE TABLE wide (id int PRIMARY KEY, v text)",
		fmt.Sprintf("INSERT INTO wide SELECT i, repeat('x', 1000) FROM generate_series(1, %d) i", rows))
	begun := 0
	begin := func(set string) (*pgx.Conn, *pgconn.ResultReader) {
		begun++ // no two statements are equal, or they would share an execution
		conn := g.client()
		exec(t, conn, "SET freshet.route = columnar")
		exec(t, conn, set)
		r := conn.PgConn().ExecParams(context.Background(),
			fmt.Sprintf("SELECT a.id, b.v FROM wide a, wide b WHERE a.id > -%d", begun), nil, nil, nil, nil)
		if !r.NextRow() {
			t.Fatal("no row came")
		}
		return conn, r
	}
	var conns []*pgx.Conn
	var results []*pgconn.ResultReader
	for range 6 {
		conn, r := begin("SET statement_timeout = 0")
		conns, results = append(conns, conn), append(results, r)
	}
	g.awaitStalled(6)
	other := g.client()
	exec(t, other, "SET freshet.route = columnar")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var n int
	if err := other.QueryRow(ctx, "SELECT count(*) FROM wide").Scan(&n); err != nil || n != rows {
		t.Errorf("beside clients that do not read: %d, %v, want %d", n, err, rows)
	}
	// A statement that is given up leaves the engine, though its client learns of it when it reads on.
	_, late := begin("SET statement_timeout = '5s'")
	g.awaitStalled(7)
	g.awaitStalled(6)
	if err := conns[0].PgConn().CancelRequest(ctx); err != nil {
		t.Fatal(err)
	}
	g.awaitStalled(5)
	for what, r := range map[string]*pgconn.ResultReader{"timed out": late, "was cancelled": results[0]} {
		var e *pgconn.PgError
		if n, err := drain(r); !errors.As(err, &e) || e.Code != "57014" {
			t.Errorf("the statement that %s: %d rows, %v, want 57014", what, n, err)
		}
	}
	// A session that is ended waits for its client no longer than PostgreSQL's would.
	exec(t, other, fmt.Sprintf("SELECT pg_terminate_backend(%d)", conns[1].PgConn().PID()))
	g.awaitStalled(4)
	if n, err := drain(results[1]); err == nil {
		t.Errorf("the session that was ended got %d rows and no error", n)
	}
	if n, err := drain(results[2]); n != rows*rows || err != nil {
		t.Errorf("a client that reads on later got %d rows, %v, want %d", n, err, rows*rows)
	}
}

// drain reads to the end, and counts the row that was read before.
func drain(r *pgconn.ResultReader) (rows int, err error) {
	for rows = 1; r.NextRow(); rows++ {
	}
	_, err = r.Close()
	return rows, err
}
