package definitions

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
)

var (
	randomFor  = flag.Duration("random-for", 15*time.Second, "how long definitions change at random")
	randomSeed = flag.Uint64("random-seed", 0, "seed of the changes; 0 takes the clock's")
)

const (
	sessions = 6
	// stormSteps is what each session does in a storm; every fourth step changes a definition.
	stormSteps = 40
	// mostStorms bounds how many it takes until every kind of change was possible once.
	mostStorms = 200
)

// TestChanges_atRandomKeepSumsAndTables changes definitions in storms, while amounts are moved between the same tables
// and a session in every mode reads their sum. After each storm it moves amounts only, until the replica has answered
// in every mode again. All of it goes through the endpoint.
func TestChanges_atRandomKeepSumsAndTables(t *testing.T) {
	seed := *randomSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-random-seed %d", seed)
	postgres, engine := stand.Postgres(t), stand.Engine(t)
	admin := stand.Connect(t, postgres.URL("postgres"))
	stand.Exec(t, admin, "CREATE DATABASE "+database)
	stand.Exec(t, admin, "ALTER DATABASE "+database+" SET deadlock_timeout = '10ms'") // they are many here
	direct := stand.Connect(t, postgres.URL(database))
	stand.Exec(t, direct, ledgerSchema)
	for _, table := range ledgers {
		stand.Exec(t, direct, fmt.Sprintf("INSERT INTO %s SELECT i, %d FROM generate_series(0, %d) i", table, ledgerValue, ledgerRows-1))
	}
	g := endpoint.Start(t, postgres, engine, database)
	g.AwaitTables(t, "public.a", "public.b", "public.c", "public.p")

	w := newWeather(t, g, direct, seed)
	readers, rctx := errgroup.WithContext(t.Context())
	reading, stop := context.WithCancel(rctx)
	defer stop()
	for _, r := range w.readers {
		readers.Go(func() error { return r.run(reading) })
	}
	storms, deadline := 0, time.Now().Add(*randomFor)
	var err error
	for ; err == nil && (time.Now().Before(deadline) || w.undone() != ""); storms++ {
		if storms == mostStorms {
			err = fmt.Errorf("in %d storms it was not possible once to %s", storms, w.undone())
			break
		}
		if err = w.storm(rctx); err == nil {
			err = w.calm(rctx)
		}
	}
	stop()
	if err := errors.Join(readers.Wait(), err); err != nil {
		t.Fatal(err)
	}
	for _, r := range w.readers {
		t.Logf("%s: %d answers, %d of the replica", r.mode, r.answers.Load(), r.columnar.Load())
	}
	t.Logf("%d storms, %d amounts moved", storms, w.moved.Load())
	for n, op := range operations {
		t.Logf("%5d × %s", w.done[n].Load(), op.name)
	}
	w.requireEqual(t)
}

// weather is what the tables are exposed to.
type weather struct {
	gateway *endpoint.Endpoint
	writers []*writer
	readers []*sumReader
	moved   atomic.Int64
	done    []atomic.Int64 // by operation
	// direct is a session with PostgreSQL, columnar one that the replica answers.
	direct, columnar *pgx.Conn
}

// writer is a session that moves amounts and changes definitions.
type writer struct {
	conn   *pgx.Conn
	rand   *rand.Rand
	suffix string
}

// sumReader is a session that reads the sum of all amounts in one mode.
type sumReader struct {
	conn              *pgx.Conn
	mode              string
	answers, columnar atomic.Int64
}

func newWeather(t *testing.T, g *endpoint.Endpoint, direct *pgx.Conn, seed uint64) *weather {
	t.Helper()
	w := &weather{gateway: g, done: make([]atomic.Int64, len(operations)), direct: direct, columnar: stand.Connect(t, g.URL(database))}
	stand.Exec(t, w.columnar, "SET freshet.freshness = 'strong'; SET freshet.route = 'columnar'")
	for i := range sessions {
		w.writers = append(w.writers, &writer{conn: stand.Connect(t, g.URL(database)), rand: rand.New(rand.NewPCG(seed, uint64(i))), suffix: fmt.Sprint(i)})
	}
	for _, mode := range slices.Sorted(maps.Keys(modes)) {
		r := &sumReader{conn: stand.Connect(t, g.URL(database)), mode: mode}
		stand.Exec(t, r.conn, modes[mode])
		w.readers = append(w.readers, r)
	}
	return w
}

// storm has every session do its steps.
func (w *weather) storm(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range w.writers {
		group.Go(func() error {
			for range stormSteps {
				step := w.transfer
				if s.rand.IntN(4) == 0 {
					step = w.change
				}
				if err := step(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// calm leaves every table such that it can be replicated, and moves amounts until the replica has answered every
// reader.
func (w *weather) calm(ctx context.Context) error {
	for _, table := range ledgers {
		for done := false; !done; { // a reader may make it a deadlock
			var err error
			if done, err = attempt(ctx, w.writers[0].conn, fmt.Sprintf(settle, table)); err != nil {
				return err
			}
		}
	}
	calm, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	before := make([]int64, len(w.readers))
	for i, r := range w.readers {
		before[i] = r.columnar.Load()
	}
	answered := func() bool {
		for i, r := range w.readers {
			if r.columnar.Load() == before[i] {
				return false
			}
		}
		return true
	}
	group, gctx := errgroup.WithContext(calm)
	for _, s := range w.writers {
		group.Go(func() error {
			for !answered() {
				if err := w.transfer(gctx, s); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("until the replica answers again, its tables being %+v: %w", w.gateway.Status().Tables, err)
	}
	for _, table := range ledgers {
		sql := "SELECT * FROM " + table + " ORDER BY id LIMIT 2"
		want, err := columns(ctx, w.direct, sql)
		if err != nil {
			return err
		}
		got, err := columns(ctx, w.columnar, sql)
		for refused(err) && calm.Err() == nil { // the last definitions of a storm may become known between the statement's parts
			got, err = columns(ctx, w.columnar, sql)
		}
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("columns of table %s, PostgreSQL's (-) and the replica's (+):\n%s", table, diff)
		}
	}
	return nil
}

// undone names an operation that was not possible yet.
func (w *weather) undone() string {
	for n, op := range operations {
		if w.done[n].Load() == 0 {
			return op.name
		}
	}
	return ""
}

func (w *weather) transfer(ctx context.Context, s *writer) error {
	ok, err := attempt(ctx, s.conn, transfer(s.rand))
	if err != nil {
		return fmt.Errorf("move an amount: %w", err)
	}
	if ok {
		w.moved.Add(1)
	}
	return nil
}

func (w *weather) change(ctx context.Context, s *writer) error {
	n := s.rand.IntN(len(operations))
	for part := range strings.SplitSeq(operations[n].statements(s.rand, s.suffix), later) {
		ok, err := attempt(ctx, s.conn, part)
		if err != nil {
			return fmt.Errorf("%s: %w", operations[n].name, err)
		}
		if !ok {
			return nil
		}
	}
	w.done[n].Add(1)
	return nil
}

// attempt runs statements in one transaction. It is false where the state that other sessions left does not allow them.
func attempt(ctx context.Context, conn *pgx.Conn, statements string) (bool, error) {
	_, err := conn.PgConn().Exec(ctx, "BEGIN; "+statements+"; COMMIT").ReadAll()
	if err == nil {
		return true, nil
	}
	if !refused(err) {
		return false, fmt.Errorf("%s: %w", statements, err)
	}
	if _, err := conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll(); err != nil {
		return false, fmt.Errorf("roll back: %w", err)
	}
	return false, nil
}

// refused reports whether PostgreSQL refuses a statement for what another session did: names and keys that are there or
// not (class 42), a table without a key whose rows cannot be changed, a deadlock, a table that was replaced while its
// lock was awaited.
func refused(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	return strings.HasPrefix(pg.Code, "42") || slices.Contains([]string{"55000", "40P01", "XX000", "0A000", "P0002"}, pg.Code)
}

// run reads until the context ends. The sum never changes.
func (r *sumReader) run(ctx context.Context) error {
	want := fmt.Sprint(len(ledgers) * ledgerRows * ledgerValue)
	for {
		results, err := r.conn.PgConn().Exec(ctx, `SELECT sum(v), count(*) FROM
			(SELECT v FROM a UNION ALL SELECT v FROM b UNION ALL SELECT v FROM c UNION ALL SELECT v FROM p) u`).ReadAll()
		var route []*pgconn.Result
		if err == nil {
			route, err = r.conn.PgConn().Exec(ctx, "SHOW freshet.last_route").ReadAll()
		}
		var pg *pgconn.PgError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &pg) && pg.Code == "40P01": // PostgreSQL answered, and deadlocked with a change
			continue
		case err != nil:
			return fmt.Errorf("read the sum, %s: %w", r.mode, err)
		}
		if got := string(results[0].Rows[0][0]); got != want {
			return fmt.Errorf("the sum of %s rows is %s, %s, on route %s; want %s", results[0].Rows[0][1], got, r.mode, route[0].Rows[0][0], want)
		}
		r.answers.Add(1)
		if string(route[0].Rows[0][0]) == "columnar" {
			r.columnar.Add(1)
		}
	}
}

// columns returns the names and types of a query's columns.
func columns(ctx context.Context, conn *pgx.Conn, sql string) ([]string, error) {
	results, err := conn.PgConn().Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sql, err)
	}
	var out []string
	for _, f := range results[0].FieldDescriptions {
		out = append(out, fmt.Sprintf("%s, type %d", f.Name, f.DataTypeOID))
	}
	return out, nil
}

// requireEqual compares the replica with PostgreSQL. Nobody may write meanwhile.
func (w *weather) requireEqual(t *testing.T) {
	t.Helper()
	rows := func(conn *pgx.Conn, sql string) []string {
		results, err := conn.PgConn().Exec(t.Context(), sql).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		out := make([]string, 0, len(results[0].Rows))
		for _, row := range results[0].Rows {
			out = append(out, fmt.Sprintf("%q", row))
		}
		return out
	}
	for _, table := range ledgers {
		sql := "SELECT * FROM " + table + " ORDER BY id"
		if diff := cmp.Diff(rows(w.direct, sql), rows(w.columnar, sql)); diff != "" {
			t.Errorf("table %s, PostgreSQL's rows (-) and the replica's (+):\n%s", table, diff)
		}
	}
}
