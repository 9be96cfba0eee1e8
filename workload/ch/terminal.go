package ch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// TerminalConfig says how a terminal behaves.
type TerminalConfig struct {
	// Warehouses is the loaded scale.
	Warehouses int
	// Number tells terminals apart; terminals spread evenly over home warehouses by it.
	Number int
	Seed   uint64
	Mix    Mix
	// ConstantSize makes New-Order delete the district's delivered order of 3,000 orders ago, as BatchDB does (section
	// 8.4) to tell growth from interference. TPC-C's consistency conditions 10 and 12 do not hold then.
	ConstantSize bool
	// Now is the clock for entry, delivery and payment dates.
	Now func() time.Time
}

// Outcome is what a transaction came to.
type Outcome struct {
	Transaction Transaction
	// RolledBack says that it was one of the New-Orders (1 %) that end by a rollback.
	RolledBack bool
	// Retries counts the attempts that failed by a serialization failure or a deadlock.
	Retries int
	// Latency is from the first attempt's start to the last one's end.
	Latency time.Duration
}

// Terminal runs TPC-C transactions on one connection, one after the other, without thinking.
//
// Statements are prepared once, and all those that do not depend on each other's results travel in one
// round trip: the client must be cheap, because it shares a core with the database. It runs in READ COMMITTED; the
// order in which rows are locked is the same everywhere, so that deadlocks are rare.
type Terminal struct {
	conn *pgx.Conn
	cfg  TerminalConfig
	home int
	rng  *rand.Rand
}

// NewTerminal prepares a terminal's statements on conn, which belongs to the terminal from then on.
func NewTerminal(ctx context.Context, conn *pgx.Conn, cfg TerminalConfig) (*Terminal, error) {
	if cfg.Warehouses < 1 {
		return nil, fmt.Errorf("make terminal %d: %d warehouses: want at least 1", cfg.Number, cfg.Warehouses)
	}
	for _, s := range statements {
		if _, err := conn.Prepare(ctx, s.name, s.sql); err != nil {
			return nil, fmt.Errorf("prepare %s for terminal %d: %w", s.name, cfg.Number, err)
		}
	}
	return &Terminal{
		conn: conn, cfg: cfg, home: 1 + cfg.Number%cfg.Warehouses,
		rng: stream(cfg.Seed, "terminal", cfg.Number),
	}, nil
}

// Run draws a transaction from the mix and runs it, again if it fails by a conflict with others.
func (t *Terminal) Run(ctx context.Context) (Outcome, error) {
	out := Outcome{Transaction: t.cfg.Mix.draw(t.rng)}
	attempt := t.prepare(out.Transaction)
	start := time.Now()
	for {
		rolledBack, err := attempt(ctx)
		out.RolledBack, out.Latency = rolledBack, time.Since(start)
		if err == nil {
			return out, nil
		}
		// Nothing is left open, whatever failed; a connection that is gone says so again at the next use.
		_, rollbackErr := t.conn.PgConn().Exec(ctx, "ROLLBACK").ReadAll()
		if !isConflict(err) || rollbackErr != nil {
			return out, fmt.Errorf("run %s: %w", out.Transaction, err)
		}
		out.Retries++
	}
}

// prepare draws a transaction's input. What it returns runs one attempt with
// that input, and tells whether it ended by an intended rollback.
func (t *Terminal) prepare(kind Transaction) func(context.Context) (bool, error) {
	switch kind {
	case NewOrder:
		return t.newOrder()
	case Payment:
		return t.payment()
	case OrderStatus:
		return t.orderStatus()
	case Delivery:
		return t.delivery()
	default:
		return t.stockLevel()
	}
}

func isConflict(err error) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pgErr.Code == "40001" || pgErr.Code == "40P01")
}

func (t *Terminal) district() int { return between(t.rng, 1, Districts) }

func (t *Terminal) customer() int {
	return nuRand(t.rng, 1023, cCustomer, 1, CustomersPerDistrict)
}

func (t *Terminal) customerName() string { return lastName(nuRand(t.rng, 255, cLastRun, 0, 999)) }

// byName says whether this customer is to be selected by last name: 60 %.
func (t *Terminal) byName() bool { return t.rng.IntN(100) < 60 }

// otherWarehouse draws a warehouse that is not the home, if there is one.
func (t *Terminal) otherWarehouse() int {
	if t.cfg.Warehouses == 1 {
		return t.home
	}
	w := between(t.rng, 1, t.cfg.Warehouses-1)
	if w >= t.home {
		w++
	}
	return w
}

// discard reads a result to its end.
func discard(r pgx.BatchResults, n int) error {
	for range n {
		if _, err := r.Exec(); err != nil {
			return err
		}
	}
	return nil
}
