package driver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/workload/affinity"
	"github.com/freshet-io/freshet/workload/ch"
)

// analyst is an analytical client.
type analyst struct {
	conn *pgx.Conn
	rng  *rand.Rand
	set  QuerySet
	// tells says that the endpoint reports how statements ran; PostgreSQL itself does not.
	tells bool
	rec   *recorder
}

// execution is how the endpoint ran a statement.
type execution struct {
	columnar  bool
	staleness time.Duration
}

func (d *Driver) analyst(ctx context.Context, number int) error {
	conn, err := d.connectAnalytical(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	a := &analyst{
		conn: conn, set: d.cfg.Queries, rec: d.rec,
		rng: rand.New(rand.NewPCG(d.cfg.Seed, uint64(number))),
	}
	_, err = show(ctx, conn.PgConn(), "freshet.last_route")
	a.tells = err == nil
	for ctx.Err() == nil {
		if err := a.round(ctx); err != nil {
			return err
		}
	}
	return nil
}

// round runs every query of the set once, in random order.
func (a *analyst) round(ctx context.Context) error {
	queries, err := a.set.Queries(a.rng)
	if err != nil {
		return err
	}
	for _, i := range a.rng.Perm(len(queries)) {
		q := queries[i]
		start := time.Now()
		if err := a.run(ctx, q); err != nil {
			return fmt.Errorf("run %s: %w", q.Name, err)
		}
		latency := time.Since(start)
		var how execution
		if a.tells {
			if how, err = a.how(ctx); err != nil {
				return fmt.Errorf("ask how %s ran: %w", q.Name, err)
			}
		}
		a.rec.query(q.Name, latency, how)
	}
	return nil
}

// run reads a query's rows to the end, without looking at them.
func (a *analyst) run(ctx context.Context, q ch.Query) error {
	rows, err := a.conn.Query(ctx, q.SQL, q.Args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
	}
	return rows.Err()
}

func (a *analyst) how(ctx context.Context) (execution, error) {
	route, err := show(ctx, a.conn.PgConn(), "freshet.last_route")
	if err != nil || !strings.HasPrefix(route, "columnar") {
		return execution{}, err
	}
	text, err := show(ctx, a.conn.PgConn(), "freshet.staleness")
	if err != nil {
		return execution{}, err
	}
	staleness, err := time.ParseDuration(text)
	if err != nil {
		return execution{}, fmt.Errorf("read freshet.staleness: %w", err)
	}
	return execution{columnar: true, staleness: staleness}, nil
}

// connectAnalytical connects to the endpoint as analytical clients do, and pins the calling
// goroutine, for as long as it lives, to the cores for analytical clients.
func (d *Driver) connectAnalytical(ctx context.Context) (*pgx.Conn, error) {
	if err := affinity.Pin(d.cfg.AnalyticalCores); err != nil {
		return nil, fmt.Errorf("start analytical client: %w", err)
	}
	conn, err := pgx.Connect(ctx, d.cfg.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("connect to endpoint: %w", err)
	}
	if d.cfg.AnalyticalSetup != "" {
		if _, err := conn.PgConn().Exec(ctx, d.cfg.AnalyticalSetup).ReadAll(); err != nil {
			return nil, errors.Join(fmt.Errorf("set up analytical client: %w", err), conn.Close(ctx))
		}
	}
	return conn, nil
}

// show returns the value of a setting.
func show(ctx context.Context, conn *pgconn.PgConn, setting string) (string, error) {
	results, err := conn.Exec(ctx, "SHOW "+setting).ReadAll()
	if err != nil {
		return "", err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return "", fmt.Errorf("SHOW %s did not return one row", setting)
	}
	return string(results[0].Rows[0][0]), nil
}
