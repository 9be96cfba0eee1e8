package compare

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/workload/ch"
)

// Config says what to compare.
type Config struct {
	// OLTP is the DSN of PostgreSQL itself, Endpoint that of the gateway in front of it.
	OLTP, Endpoint string
	// Tables are locked against writers while the snapshots are taken, in this order; see [ch.WriteOrder].
	Tables []string
	// Queries are run one after the other, each on both sides.
	Queries []ch.Query
	// LockTimeout bounds how long writers can be held off; 10 s if zero.
	LockTimeout time.Duration
}

// Report is the outcome of one comparison.
type Report struct {
	// Compared counts the queries, Different those whose answers differ or that the endpoint fails to answer.
	Compared, Different int
	// Differences describes the different answers.
	Differences []Difference
	// Columnar counts the answers of the endpoint that came from its columnar replica; -1 if the
	// endpoint does not tell, because it is PostgreSQL.
	Columnar int
	// OtherRoutes holds the route of each query, by name, that took another one.
	OtherRoutes map[string]string
	// Pause is how long writers were held off, waiting for the locks included.
	Pause time.Duration
	// Times holds how long each query took, by name, on each side.
	Times map[string]Times
}

// Times is how long a query took on each side.
type Times struct{ OLTP, Endpoint time.Duration }

// Difference is a query whose answers differ.
type Difference struct {
	Query  ch.Query
	Detail string
}

// String prints the difference with its query.
func (d Difference) String() string {
	return fmt.Sprintf("%s: %s\n%s", d.Query.Name, d.Detail, d.Query.Text())
}

// Run compares all queries on one snapshot.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	s, err := connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer s.close(context.WithoutCancel(ctx))
	report := &Report{Times: make(map[string]Times, len(cfg.Queries)), OtherRoutes: make(map[string]string)}
	if report.Pause, err = s.pin(ctx, cfg); err != nil {
		return nil, err
	}
	if !s.tellsRoute {
		report.Columnar = -1
	}
	for _, q := range cfg.Queries {
		err := s.compare(ctx, q, report)
		if failed, ok := errors.AsType[*endpointError](err); ok {
			report.add(q, failed.Error())
			_, err = s.pin(ctx, cfg) // the failure ended the endpoint's snapshot
		}
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

// endpointError is a query that the endpoint does not answer although PostgreSQL does.
type endpointError struct{ err error }

func (e *endpointError) Error() string { return "the endpoint fails: " + e.err.Error() }
func (e *endpointError) Unwrap() error { return e.err }

// add counts a query; detail says how its answers differ, if they do.
func (r *Report) add(q ch.Query, detail string) {
	r.Compared++
	if detail != "" {
		r.Different++
		r.Differences = append(r.Differences, Difference{Query: q, Detail: detail})
	}
}

// sides are the connections of one comparison.
type sides struct {
	lock, oltp, endpoint *pgconn.PgConn
	tellsRoute           bool
}

func connect(ctx context.Context, cfg Config) (*sides, error) {
	var s sides
	for _, c := range []struct {
		name, dsn string
		conn      **pgconn.PgConn
	}{{"PostgreSQL", cfg.OLTP, &s.lock}, {"PostgreSQL", cfg.OLTP, &s.oltp}, {"endpoint", cfg.Endpoint, &s.endpoint}} {
		conn, err := pgx.Connect(ctx, c.dsn)
		if err != nil {
			s.close(ctx)
			return nil, fmt.Errorf("compare answers: connect to %s: %w", c.name, err)
		}
		*c.conn = conn.PgConn()
	}
	_, err := s.route(ctx)
	s.tellsRoute = err == nil
	return &s, nil
}

func (s *sides) close(ctx context.Context) {
	for _, c := range []*pgconn.PgConn{s.lock, s.oltp, s.endpoint} {
		if c != nil {
			_ = c.Close(ctx) // nothing depends on how these read-only sessions end
		}
	}
}

// pin takes both snapshots while no transaction that wrote to the tables is open.
func (s *sides) pin(ctx context.Context, cfg Config) (pause time.Duration, err error) {
	timeout := cfg.LockTimeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	steps := []struct {
		conn *pgconn.PgConn
		sql  string
	}{
		{s.oltp, "ROLLBACK"}, // of an earlier snapshot; without one it is a warning
		{s.endpoint, "ROLLBACK"},
		{s.oltp, begin},
		{s.endpoint, "SET freshet.freshness = 'strong'"},
		{s.endpoint, begin},
		{s.lock, fmt.Sprintf("BEGIN; SET LOCAL lock_timeout = %d; SET LOCAL idle_in_transaction_session_timeout = %d",
			timeout.Milliseconds(), timeout.Milliseconds())},
		{s.lock, "LOCK TABLE " + strings.Join(cfg.Tables, ", ") + " IN SHARE MODE"},
		{s.oltp, "SELECT count(*) FROM " + cfg.Tables[0]},
		{s.endpoint, "SELECT count(*) FROM " + cfg.Tables[0]},
		{s.lock, "COMMIT"},
	}
	const locking = 6
	var start time.Time
	for i, step := range steps {
		if i == locking {
			start = time.Now()
		}
		if _, err := step.conn.Exec(ctx, step.sql).ReadAll(); err != nil {
			return 0, fmt.Errorf("take one snapshot on both sides: %s: %w", step.sql, err)
		}
	}
	return time.Since(start), nil
}

func (s *sides) compare(ctx context.Context, q ch.Query, report *Report) error {
	start := time.Now()
	want, err := ask(ctx, s.oltp, q)
	if err != nil {
		return fmt.Errorf("run %s on PostgreSQL: %w", q.Name, err)
	}
	middle := time.Now()
	got, err := ask(ctx, s.endpoint, q)
	if err != nil {
		if _, ok := errors.AsType[*pgconn.PgError](err); ok {
			return &endpointError{err}
		}
		return fmt.Errorf("run %s on the endpoint: %w", q.Name, err)
	}
	report.Times[q.Name] = Times{OLTP: middle.Sub(start), Endpoint: time.Since(middle)}
	report.add(q, difference(want, got, q.Order))
	if !s.tellsRoute {
		return nil
	}
	route, err := s.route(ctx)
	if err != nil {
		return fmt.Errorf("ask for the route of %s: %w", q.Name, err)
	}
	if strings.HasPrefix(route, "columnar") {
		report.Columnar++
	} else {
		report.OtherRoutes[q.Name] = route
	}
	return nil
}

// route returns the route of the last statement on the endpoint.
func (s *sides) route(ctx context.Context) (string, error) {
	results, err := s.endpoint.Exec(ctx, "SHOW freshet.last_route").ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return "", errors.New("SHOW freshet.last_route did not return one row")
	}
	return string(results[0].Rows[0][0]), nil
}
