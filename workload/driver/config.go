package driver

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/freshet-io/freshet/workload/ch"
)

// QuerySet names what analytical clients run.
type QuerySet string

// The query sets.
const (
	// CHQueries are the 22 of the CH-benCHmark.
	CHQueries QuerySet = "ch"
	// BatchDBQueries are BatchDB's 14, with new parameters in every round.
	BatchDBQueries QuerySet = "batchdb"
	// HOAPQuery is JoinGrpAgg with a new state every time.
	HOAPQuery QuerySet = "hoap"
	// AllQueries are all of these.
	AllQueries QuerySet = "all"
)

// Queries draws one round of the set.
func (s QuerySet) Queries(rng *rand.Rand) ([]ch.Query, error) {
	switch s {
	case CHQueries, "":
		return ch.Queries(), nil
	case BatchDBQueries:
		return ch.BatchDBQueries(rng), nil
	case HOAPQuery:
		return []ch.Query{ch.JoinGrpAgg(rng)}, nil
	case AllQueries:
		return append(append(ch.Queries(), ch.BatchDBQueries(rng)...), ch.JoinGrpAgg(rng)), nil
	}
	return nil, fmt.Errorf("unknown query set %q: want ch, batchdb, hoap or all", s)
}

// Check tells whether there is such a set.
func (s QuerySet) Check() error {
	_, err := s.Queries(rand.New(rand.NewPCG(0, 0)))
	return err
}

// Config says what runs. Counts of zero leave that kind of client out.
type Config struct {
	// OLTP is the DSN of transactional clients: the endpoint, or PostgreSQL itself.
	OLTP string
	// Endpoint is the DSN of analytical clients and of the consistency checker.
	Endpoint string
	// Postgres is the DSN of PostgreSQL itself, to compare answers with.
	Postgres string

	// Warehouses is the loaded scale.
	Warehouses int
	Seed       uint64

	// TransactionClients are TPC-C terminals without think time.
	TransactionClients int
	// Pace, if set, is called before each transaction of theirs, which waits for it to return. An error ends the client.
	Pace func(context.Context) error
	// Mix is their mix; the zero Mix means [ch.StandardMix].
	Mix ch.Mix
	// ConstantSize keeps the database's size; see [ch.TerminalConfig].
	ConstantSize bool

	// AnalyticalClients run queries of Queries back to back, each in an order of its own.
	AnalyticalClients int
	Queries           QuerySet
	// AnalyticalSetup is run on every analytical connection first, for example "SET freshet.freshness = 'strong'".
	AnalyticalSetup string
	// AnalyticalCores pins analytical clients and checkers to these CPUs, apart from the rest of this process; empty: not pinned.
	AnalyticalCores []int

	// Check runs TPC-C's consistency conditions in a loop beside the clients, a snapshot every CheckEvery.
	Check      bool
	CheckEvery time.Duration
	// CompareAtEnd compares the answers of all queries once the duration is over, while the transactions go on uncounted.
	CompareAtEnd bool

	// Warmup is left out of all counts.
	Warmup time.Duration
	// Duration of the run after the warm-up; zero: until the context ends.
	Duration time.Duration
	// Reconnect keeps clients going through failures, which are counted. Without it the first failure ends the run.
	Reconnect bool
	// Logger is told of failures; nil: nobody.
	Logger *slog.Logger
}

// Validate tells what cannot run, whatever the configuration is used with.
func (c Config) Validate() error {
	for _, count := range []struct {
		n    int
		what string
	}{{c.TransactionClients, "transactional clients"}, {c.AnalyticalClients, "analytical clients"}} {
		if count.n < 0 {
			return fmt.Errorf("%d %s: give 0 to leave them out", count.n, count.what)
		}
	}
	switch {
	case c.Duration < 0:
		return fmt.Errorf("duration %v: it must not be negative", c.Duration)
	case c.Warmup < 0:
		return fmt.Errorf("warm-up %v: it must not be negative", c.Warmup)
	}
	return c.Queries.Check()
}

func (c Config) withDefaults() (Config, error) {
	if err := c.Validate(); err != nil {
		return c, fmt.Errorf("configure workload: %w", err)
	}
	if c.TransactionClients > 0 && (c.OLTP == "" || c.Warehouses < 1) {
		return c, fmt.Errorf("configure workload: transactional clients need a DSN and at least one warehouse")
	}
	if (c.AnalyticalClients > 0 || c.Check || c.CompareAtEnd) && c.Endpoint == "" {
		return c, fmt.Errorf("configure workload: analytical clients and checks need the endpoint's DSN")
	}
	if c.CompareAtEnd && c.Postgres == "" {
		return c, fmt.Errorf("configure workload: comparing answers needs PostgreSQL's own DSN")
	}
	if c.Mix == (ch.Mix{}) {
		c.Mix = ch.StandardMix
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
