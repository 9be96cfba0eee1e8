package kubectl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/freshet-io/freshet/bench"
	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/driver"
)

// benchOptions are the flags of bench.
type benchOptions struct {
	workload driver.Config
	// load is how many warehouses are loaded where there is none; 0: none may be.
	load int
	json string
}

// check tells what cannot be measured, before the cluster is asked for anything.
func (o benchOptions) check() error {
	switch {
	case o.load < 0:
		return fmt.Errorf("%d warehouses to load: give at least one, or leave --load out", o.load)
	case o.workload.Duration <= 0:
		return fmt.Errorf("duration %v: it must be positive", o.workload.Duration)
	}
	return o.workload.Validate()
}

func (p *plugin) benchCommand() *cobra.Command {
	var o benchOptions
	cmd := &cobra.Command{
		Use:   "bench NAME",
		Short: "The CH-benCHmark on the endpoint: rates, staleness, consistency checks",
		Long: `The CH-benCHmark on the endpoint, through a port that is forwarded to one ready unit: TPC-C transactions and analytical queries side by
side, with TPC-C's consistency conditions checked on snapshots.

The database must hold the benchmark's tables, which the transactions change. --load makes them where they are not there.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return fmt.Errorf("bench: %w", err)
			}
			files, err := report.OpenFiles(o.json, "")
			if err != nil {
				return err
			}
			defer files.Discard()
			e, err := p.endpoint(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			defer e.close()
			r, err := p.bench(cmd.Context(), e, o)
			if err != nil {
				return fmt.Errorf("bench: %w", err)
			}
			if err := files.Conclude(r, p.out); err != nil {
				return fmt.Errorf("bench: %w", err)
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.load, "load", 0, "warehouses to load into the database if it does not hold the benchmark; creates its tables there")
	f.DurationVar(&o.workload.Duration, "duration", time.Minute, "time that is counted")
	f.DurationVar(&o.workload.Warmup, "warmup", 3*time.Second, "time before that")
	f.IntVar(&o.workload.TransactionClients, "terminals", 4, "transactional clients")
	f.IntVar(&o.workload.AnalyticalClients, "analysts", 4, "analytical clients")
	f.StringVar((*string)(&o.workload.Queries), "queries", string(driver.BatchDBQueries), "what analytical clients run: ch, batchdb, hoap or all")
	f.Uint64Var(&o.workload.Seed, "seed", 1, "seed of the data and the clients")
	f.StringVar(&o.json, "json", "", "file for the results as JSON")
	return cmd
}

func (p *plugin) bench(ctx context.Context, e *endpoint, o benchOptions) (_ *report.Report, err error) {
	g, err := openGate(e)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	dsn := (&url.URL{
		Scheme: "postgresql", User: url.UserPassword(e.user, e.password), Host: g.addr(), Path: "/" + e.database, RawQuery: "sslmode=disable",
	}).String()
	warehouses, err := ch.Warehouses(ctx, dsn)
	if err != nil {
		return nil, err
	}
	switch {
	case warehouses > 0 && o.load > 0:
		return nil, fmt.Errorf("database %q holds %d warehouses already; leave --load out", e.database, warehouses)
	case warehouses == 0 && o.load == 0:
		return nil, fmt.Errorf("database %q does not hold the CH-benCHmark; --load 2 creates its tables there, and fills them with two warehouses", e.database)
	case o.load > 0:
		fmt.Fprintf(p.errOut, "loading %d warehouses into database %q\n", o.load, e.database)
		if err := ch.Load(ctx, ch.LoadConfig{DSN: dsn, Warehouses: o.load, Seed: o.workload.Seed}); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(p.errOut, "waiting until the replica holds the tables")
	limit := lookLimit
	if o.load > 0 {
		limit = copyLimit
	}
	if err := bench.AwaitReplica(ctx, dsn, limit); err != nil {
		return nil, fmt.Errorf("%w; see columnar.tables, and kubectl freshet status", err)
	}
	o.workload.Endpoint, o.workload.OLTP = dsn, dsn
	o.workload.Check, o.workload.CheckEvery = true, time.Second
	fmt.Fprintf(p.errOut, "running for %v on unit %s\n", o.workload.Warmup+o.workload.Duration, e.unit)
	return bench.Clients(ctx, o.workload)
}

// How long the replica has to hold the tables: after a load it copies them first.
const (
	copyLimit = 15 * time.Minute
	lookLimit = 30 * time.Second
)
