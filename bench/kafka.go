package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/workload/driver"
)

const (
	// warm is how long transactions run before anything counts: Java compiles what runs often while it runs.
	warm = 40 * time.Second
	// anyAge keeps every analytical query on the replica. Under the default bound, queries that find a snapshot older
	// than a second go to PostgreSQL, and exactly the staleness that is to be measured would be missing.
	anyAge = "SET freshet.freshness = 'eventual'"
	// outage is how long the gateway is stopped at full load.
	outage = 60 * time.Second
	// catchUpLimit is how long the gateway may take to catch up while transactions go on. Where they are more than the
	// pipeline takes, it never does, and the measurement goes on without them.
	catchUpLimit = 60 * time.Second
	// fresh is the staleness at which a gateway has caught up.
	fresh = time.Second
	// flood is how many rows are written as fast as PostgreSQL takes them, in transactions of floodTransaction by
	// floodWriters.
	flood, floodTransaction, floodWriters = 600_000, 500, 2
)

// KafkaResult is the outcome of [Kafka].
type KafkaResult struct {
	// StalenessMS is the age of the snapshot at the moment a query started on it, at the full rate of transactions.
	// Every query that the replica answered counts, however old its snapshot was.
	StalenessMS           driver.Percentiles `json:"staleness_ms"`
	TransactionsPerSecond float64            `json:"transactions_per_second"`
	QueriesPerSecond      float64            `json:"analytical_queries_per_second"`
	// ColumnarShare is the share of the queries that the columnar replica answered.
	ColumnarShare float64 `json:"columnar_share"`
	// Failures counts errors of the endpoint and of PostgreSQL under load, and during the outage and after it.
	Failures int64 `json:"failures"`
	// CatchUpSeconds is how long a gateway needs after an outage at full load, which goes on meanwhile. CaughtUp is
	// false where it was not enough.
	CatchUpSeconds float64       `json:"catch_up_seconds"`
	CaughtUp       bool          `json:"caught_up"`
	Outage         GatewayMemory `json:"gateway_memory_after_outage"`
	// Flood is many rows at once.
	FloodRows int `json:"flood_rows"`
	// WriteSeconds is how long PostgreSQL took to write them, FloodSeconds until all were visible.
	WriteSeconds float64 `json:"write_seconds"`
	FloodSeconds float64 `json:"flood_seconds"`
	FloodRate    float64 `json:"flood_changes_per_second"`
	// What each part used for it, in CPU seconds.
	GatewayCPU  float64 `json:"gateway_cpu_seconds"`
	EngineCPU   float64 `json:"engine_cpu_seconds"`
	BrokerCPU   float64 `json:"broker_cpu_seconds"`
	ConnectCPU  float64 `json:"connect_cpu_seconds"`
	PostgresCPU float64 `json:"postgresql_cpu_seconds"`
	// PerCore is how many changes the gateway takes from the topics into staged columns in a second of CPU time.
	PerCore float64 `json:"changes_per_gateway_cpu_second"`
}

// Kafka measures the change stream over Kafka, with a broker and Kafka Connect of its own beside everything else.
func Kafka(ctx context.Context, o Options) (_ *report.Report, err error) {
	o.Rounds, o.Rig.CDC = 1, platform.Kafka
	o.Rig.Prepare = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "CREATE TABLE flood (id bigint PRIMARY KEY, amount numeric(12,2) NOT NULL, at timestamptz NOT NULL, note text NOT NULL)")
		return err
	}
	r, err := rig.Start(ctx, o.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Stop(context.WithoutCancel(ctx))) }()
	out := &KafkaResult{FloodRows: flood}
	res, err := underLoad(ctx, o, r)
	if err != nil {
		return nil, err
	}
	out.StalenessMS, out.TransactionsPerSecond, out.QueriesPerSecond = res.StalenessMS, res.TransactionsPerSecond, res.AnalyticalQueriesPerSecond
	out.ColumnarShare, out.Failures = float64(res.ColumnarQueries)/float64(res.QueryLatencyMS.Count), res.Failures
	o.Progress(fmt.Sprintf("stopping the gateway for %v at full load", outage))
	if err := out.catchUp(ctx, o, r); err != nil {
		return nil, err
	}
	o.Progress(fmt.Sprintf("writing %d rows at once", flood))
	if err := out.flood(ctx, r); err != nil {
		return nil, err
	}
	return out.report(o), nil
}

// underLoad runs both kinds of clients, after Kafka Connect has had time to become fast.
func underLoad(ctx context.Context, o Options, r *rig.Rig) (*driver.Report, error) {
	o.Progress("warming up Kafka Connect")
	warmUp := o
	warmUp.Warmup, warmUp.Duration = 0, warm
	if _, err := warmUp.phase(ctx, r, load{terminals: o.Terminals}, ""); err != nil {
		return nil, err
	}
	if err := r.CaughtUp(ctx); err != nil {
		return nil, err
	}
	o.Progress("transactions and analytics")
	res, err := o.phase(ctx, r, load{o.Terminals, o.Analysts}, anyAge)
	if err != nil {
		return nil, err
	}
	if res.StalenessMS.Count == 0 {
		return nil, errors.New("measure staleness: no query ran on the replica")
	}
	return res, nil
}

// catchUp stops the gateway under load, and measures how long it needs to be fresh again while the load goes on.
func (k *KafkaResult) catchUp(ctx context.Context, o Options, r *rig.Rig) error {
	if err := errors.Join(r.CaughtUp(ctx), r.ResetPeak()); err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	loading, stop := context.WithCancel(ctx)
	defer stop()
	o.Warmup, o.Duration = 0, time.Hour
	ended := make(chan error, 1)
	running.Go(func() {
		made, err := o.phase(loading, r, load{terminals: o.Terminals}, "")
		if made != nil {
			k.Failures += made.Failures
		}
		ended <- err
	})
	if err := r.Suspend(); err != nil {
		return err
	}
	defer func() { _ = r.Resume() }() // again, in case of an error; resuming twice does nothing
	select {
	case <-time.After(outage):
	case err := <-ended:
		return errors.Join(errors.New("the load ended"), err)
	}
	start := time.Now()
	if err := r.Resume(); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(ctx, catchUpLimit)
	defer cancel()
	k.CaughtUp = awaitFresh(waiting, r) == nil
	if ctx.Err() != nil {
		return ctx.Err()
	}
	k.CatchUpSeconds = time.Since(start).Seconds()
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	var err error
	k.Outage, err = gatewayMemory(r)
	return err
}

// awaitFresh waits until the newest snapshot is fresh.
func awaitFresh(ctx context.Context, r *rig.Rig) error {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		if staleness, err := r.Staleness(ctx); err == nil && staleness >= 0 && staleness < fresh {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until the gateway has caught up: %w", ctx.Err())
		case <-again.C:
		}
	}
}

// flood writes many rows and waits until they are visible.
func (k *KafkaResult) flood(ctx context.Context, r *rig.Rig) error {
	if err := r.CaughtUp(ctx); err != nil {
		return err
	}
	before, err := r.CPU()
	if err != nil {
		return err
	}
	broker, connect, err := r.PipelineCPU()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := writeFlood(ctx, r.OLTP()); err != nil {
		return err
	}
	k.WriteSeconds = time.Since(start).Seconds()
	if err := r.CaughtUp(ctx); err != nil {
		return err
	}
	k.FloodSeconds = time.Since(start).Seconds()
	k.FloodRate = flood / k.FloodSeconds
	after, err := r.CPU()
	if err != nil {
		return err
	}
	brokerAfter, connectAfter, err := r.PipelineCPU()
	used := after.Sub(before)
	k.GatewayCPU, k.EngineCPU, k.PostgresCPU = used.Gateway.Seconds(), used.Engine.Seconds(), used.Postgres.Seconds()
	k.BrokerCPU, k.ConnectCPU = (brokerAfter - broker).Seconds(), (connectAfter - connect).Seconds()
	k.PerCore = flood / k.GatewayCPU
	return err
}

func writeFlood(ctx context.Context, url string) error {
	var wg sync.WaitGroup
	errs := make([]error, floodWriters)
	for w := range floodWriters {
		wg.Go(func() {
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				errs[w] = err
				return
			}
			defer conn.Close(context.WithoutCancel(ctx))
			for first := w * floodTransaction; first < flood && errs[w] == nil; first += floodWriters * floodTransaction {
				_, errs[w] = conn.Exec(ctx, "INSERT INTO flood SELECT i, i * 0.01, now(), 'note of row ' || i FROM generate_series($1::bigint, $2) AS i",
					first, first+floodTransaction-1)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write rows: %w", err)
	}
	return nil
}

func (k *KafkaResult) report(o Options) *report.Report {
	r := o.describe("kafka", "The change stream over Kafka")
	r.AddSetting("Kafka", fmt.Sprintf("one broker and Kafka Connect with Debezium, on the core of PostgreSQL when pinned, before it and its clients (priority %d, as root only), one partition a table",
		rig.PipelinePriority))
	r.AddSetting("under load", fmt.Sprintf("after %v of transactions alone; analytical clients take any snapshot, so that its age is not cut off", warm))
	r.AddSetting("stop", fmt.Sprintf("the gateway is stopped for %v while transactions go on at full rate, which they do until it has caught up (staleness below %v)", outage, fresh))
	r.AddSetting("rows at once", fmt.Sprintf("%d inserts in transactions of %d by %d sessions", flood, floodTransaction, floodWriters))
	r.Data = k
	r.Tables = []report.Table{
		{Title: "Under load", Columns: []string{"", ""}, Rows: [][]string{
			cells("staleness p50 ms|%.1f", k.StalenessMS.P50), cells("staleness p99 ms|%.1f", k.StalenessMS.P99),
			cells("transactions/s|%.0f", k.TransactionsPerSecond), cells("analytical queries/s|%.1f", k.QueriesPerSecond),
			cells("columnar|%.0f %%", 100*k.ColumnarShare), cells("errors|%d", k.Failures),
			cells("s to catch up after the stop"+k.unless()+"|%.1f", k.CatchUpSeconds), cells("gateway memory, peak MiB|%.0f", k.Outage.Peak),
		}},
		{Title: "Many rows at once", Columns: []string{"", ""}, Rows: [][]string{
			cells("s to write|%.1f", k.WriteSeconds), cells("s until visible|%.1f", k.FloodSeconds), cells("row changes/s|%.0f", k.FloodRate),
			cells("CPU s of PostgreSQL|%.1f", k.PostgresCPU), cells("CPU s of Kafka Connect|%.1f", k.ConnectCPU), cells("CPU s of the broker|%.1f", k.BrokerCPU),
			cells("CPU s of the gateway|%.1f", k.GatewayCPU), cells("CPU s of the engine|%.1f", k.EngineCPU),
		}},
	}
	r.Charts = []report.Chart{{Title: "CPU seconds for many rows at once", Labels: []string{"PostgreSQL", "Connect", "broker", "gateway", "engine"},
		Series: []report.Series{{Name: "CPU s", Values: []float64{k.PostgresCPU, k.ConnectCPU, k.BrokerCPU, k.GatewayCPU, k.EngineCPU}}}}}
	r.AtMost("errors of the endpoint and of PostgreSQL", float64(k.Failures), 0, "%.0f")
	r.AtMost("staleness p50", k.StalenessMS.P50, 120, "%.1f ms")
	r.AtMost("staleness p99", k.StalenessMS.P99, 500, "%.1f ms")
	r.AtLeast("row changes/s from the topics into staged columns, one core", k.PerCore, 150_000, "%.0f")
	r.AtLeast("row changes/s, end to end", k.FloodRate, 25_000, "%.0f")
	r.AtMost("gateway memory with a backlog, peak", k.Outage.Peak, 500, "%.0f MiB")
	r.AtMost("catching up after a stop of 60 s"+k.unless(), k.CatchUpSeconds, 30, "%.1f s")
	return r
}

// unless says what a time to catch up means that was not enough.
func (k *KafkaResult) unless() string {
	if k.CaughtUp {
		return ""
	}
	return " (given up, the load was too much)"
}
