package driver

import (
	"math/rand/v2"
	"time"

	"github.com/freshet-io/freshet/workload/ch"
)

// Report is the outcome of a run, as JSON.
type Report struct {
	Settings Settings `json:"settings"`
	// Seconds is how long was counted.
	Seconds float64 `json:"seconds"`

	TransactionsPerSecond      float64     `json:"transactions_per_second"`
	NewOrdersPerMinute         float64     `json:"new_orders_per_minute"`
	AnalyticalQueriesPerSecond float64     `json:"analytical_queries_per_second"`
	StalenessMS                Percentiles `json:"staleness_ms"`
	// ColumnarQueries counts the analytical queries that the columnar replica answered.
	ColumnarQueries int64 `json:"columnar_queries"`

	SnapshotsChecked int    `json:"snapshots_checked"`
	Violations       int    `json:"violations"`
	FirstViolation   string `json:"first_violation,omitempty"`

	AnswersCompared  int      `json:"answers_compared"`
	AnswersDifferent int      `json:"answers_different"`
	AnswersColumnar  int      `json:"answers_columnar"`
	Differences      []string `json:"differences,omitempty"`

	Transactions map[string]TransactionReport `json:"transactions,omitempty"`
	// QueryLatencyMS is over all analytical queries, Queries by query.
	QueryLatencyMS Percentiles            `json:"query_latency_ms"`
	Queries        map[string]Percentiles `json:"queries,omitempty"`

	// Failures counts the clients' failures where they reconnect.
	Failures    int64  `json:"failures"`
	LastFailure string `json:"last_failure,omitempty"`
}

// Settings of a run.
type Settings struct {
	Warehouses         int      `json:"warehouses"`
	TransactionClients int      `json:"transaction_clients"`
	AnalyticalClients  int      `json:"analytical_clients"`
	Queries            QuerySet `json:"queries"`
	ConstantSize       bool     `json:"constant_size"`
	Seed               uint64   `json:"seed"`
	WarmupSeconds      float64  `json:"warmup_seconds"`
	AnalyticalSetup    string   `json:"analytical_setup,omitempty"`
}

// TransactionReport is what one kind of transaction achieved.
type TransactionReport struct {
	Count      int64       `json:"count"`
	RolledBack int64       `json:"rolled_back"`
	Retries    int64       `json:"retries"`
	LatencyMS  Percentiles `json:"latency_ms"`
}

// Progress is a run's state for a live view.
type Progress struct {
	Phase   Phase
	Elapsed time.Duration // since counting began; zero before
	// Total is how long counting is to last; zero: without end.
	Total time.Duration
	// Totals since counting began.
	Transactions, Queries             int64
	Staleness, QueryLatency           Percentiles
	SnapshotsChecked, Violations      int
	AnswersCompared, AnswersDifferent int
	Failures                          int64
}

// Progress returns the state of the run.
func (d *Driver) Progress() Progress {
	r := d.report()
	d.mu.Lock()
	phase := d.phase
	d.mu.Unlock()
	p := Progress{
		Phase: phase, Elapsed: time.Duration(r.Seconds * float64(time.Second)), Total: d.cfg.Duration,
		Queries: r.QueryLatencyMS.Count, Staleness: r.StalenessMS, QueryLatency: r.QueryLatencyMS,
		SnapshotsChecked: r.SnapshotsChecked, Violations: r.Violations,
		AnswersCompared: r.AnswersCompared, AnswersDifferent: r.AnswersDifferent, Failures: r.Failures,
	}
	for _, t := range r.Transactions {
		p.Transactions += t.Count
	}
	return p
}

// report sums up what was counted so far.
func (d *Driver) report() *Report {
	r := d.rec.report()
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.cfg
	r.Settings = Settings{
		Warehouses: c.Warehouses, TransactionClients: c.TransactionClients, AnalyticalClients: c.AnalyticalClients,
		Queries: c.Queries, ConstantSize: c.ConstantSize, Seed: c.Seed, WarmupSeconds: c.Warmup.Seconds(),
		AnalyticalSetup: c.AnalyticalSetup,
	}
	counts := d.checker.Counts()
	// Violations during the warm-up count all the same: a wrong answer has no excuse.
	r.SnapshotsChecked, r.Violations = counts.Snapshots-d.unchecked.Snapshots, counts.Violations
	if counts.First != nil {
		r.FirstViolation = counts.First.String()
	}
	if d.comparison != nil {
		r.AnswersCompared, r.AnswersDifferent = d.comparison.Compared, d.comparison.Different
		r.AnswersColumnar = d.comparison.Columnar
		for _, difference := range d.comparison.Differences {
			r.Differences = append(r.Differences, difference.String())
		}
	}
	return r
}

func (r *recorder) report() *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := &Report{
		Seconds: r.seconds(), StalenessMS: r.staleness.percentiles(), ColumnarQueries: r.columnar,
		Transactions: make(map[string]TransactionReport), Queries: make(map[string]Percentiles),
		Failures: r.failures, LastFailure: r.lastFailure,
	}
	var transactions int64
	for i, t := range r.transactions {
		p := t.latency.percentiles()
		out.Transactions[ch.Transaction(i).String()] = TransactionReport{p.Count, t.rolledBack, t.retries, p}
		transactions += p.Count
	}
	all := newHistogram()
	for name, h := range r.queries {
		out.Queries[name] = h.percentiles()
		all.h.Merge(h.h)
	}
	out.QueryLatencyMS = all.percentiles()
	if out.Seconds > 0 {
		out.TransactionsPerSecond = float64(transactions) / out.Seconds
		out.AnalyticalQueriesPerSecond = float64(r.queryCount) / out.Seconds
		out.NewOrdersPerMinute = 60 * float64(out.Transactions[ch.NewOrder.String()].Count) / out.Seconds
	}
	return out
}

// chRand draws the parameters of the queries that are compared.
func chRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }
