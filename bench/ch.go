package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/driver"
)

// chPhase is a phase of the CH-benCHmark.
type chPhase struct {
	name, short string // short is the chart's
	// transactions and analytics say which clients run.
	transactions, analytics bool
	// suspended: the gateway's process stands still, so that there is no change stream.
	suspended bool
	// decodedApart: PostgreSQL's process that decodes its log is moved to the columnar side, as by freshet local up --pin
	// --pin-decoding.
	decodedApart bool
	// neighbour: the analysts' queries run on plain tables. The other core's work alone takes from transactions what both cores
	// share: caches, and the way to the memory.
	neighbour bool
	// marker: a row is committed again and again. Without commits every query would be answered from the results of the one snapshot there is.
	marker bool
}

var (
	phaseAlone  = chPhase{name: "transactions alone, no change stream", short: "alone", transactions: true, suspended: true}
	phaseStream = chPhase{name: "transactions with change stream", short: "with change stream", transactions: true}
	phaseBoth   = chPhase{name: "transactions and analytics", short: "with analytics", transactions: true, analytics: true}
	// Only where the two sides are pinned apart.
	phaseStreamApart = chPhase{name: "transactions with change stream, decoded on the columnar core", short: "with change stream, decoded apart",
		transactions: true, decodedApart: true}
	phaseBothApart = chPhase{name: "transactions and analytics, decoded on the columnar core", short: "with analytics, decoded apart",
		transactions: true, analytics: true, decodedApart: true}
	phaseNeighbour = chPhase{name: "transactions beside the same queries on plain tables, no change stream", short: "beside queries on plain tables",
		transactions: true, suspended: true, neighbour: true}

	phaseAnalytics = chPhase{name: "analytics alone", analytics: true, marker: true}
)

// chPhases are the phases in the order of the first round.
func chPhases(pinned bool) []chPhase {
	if pinned {
		return []chPhase{phaseAlone, phaseStream, phaseBoth, phaseStreamApart, phaseBothApart, phaseNeighbour, phaseAnalytics}
	}
	return []chPhase{phaseAlone, phaseStream, phaseBoth, phaseAnalytics}
}

// PhaseResult is what one phase achieved, in the mean over the rounds.
type PhaseResult struct {
	of                    chPhase
	Phase                 string    `json:"phase"`
	TransactionsPerSecond float64   `json:"transactions_per_second"`
	QueriesPerSecond      float64   `json:"analytical_queries_per_second"`
	TransactionRounds     []float64 `json:"transactions_per_second_by_round,omitempty"`
	QueryRounds           []float64 `json:"analytical_queries_per_second_by_round,omitempty"`
	// LostRounds are the shares of the transactions alone of the same round that each round lost.
	LostRounds     []float64 `json:"transactions_lost_by_round,omitempty"`
	NewOrderP99MS  float64   `json:"new_order_p99_ms"`
	StalenessP50MS float64   `json:"staleness_p50_ms"`
	StalenessP99MS float64   `json:"staleness_p99_ms"`
	// ColumnarShare is the share of the queries that the columnar replica answered.
	ColumnarShare     float64 `json:"columnar_share"`
	queries, columnar int64
	// Failures counts errors of the endpoint and of PostgreSQL.
	Failures int64 `json:"failures"`
	// GatewayPeak is the gateway's highest memory while the phase ran, in MiB, and before it since the phase before.
	GatewayPeak   float64 `json:"gateway_peak_mib"`
	gatewayBefore float64
	// StolenShare is the share of this machine's CPU time that its host gave to others.
	StolenShare float64 `json:"stolen_share"`
}

// CHResult is the outcome of [CH].
type CHResult struct {
	Phases []*PhaseResult `json:"phases"`
	// The losses are shares of the rate alone.
	TransactionsLostToStream    float64 `json:"transactions_lost_to_change_stream"`
	TransactionsLostToAnalytics float64 `json:"transactions_lost_to_analytics"`
	AnalyticsLost               float64 `json:"analytics_lost_to_transactions"`
	// TransactionsLostToNeighbour is what an engine takes that runs the queries on plain tables, without a change stream; only where the sides are pinned.
	TransactionsLostToNeighbour float64 `json:"transactions_lost_to_queries_on_plain_tables,omitempty"`
	// The same where the log is decoded on the columnar core; only where the sides are pinned.
	TransactionsLostToStreamApart    float64 `json:"transactions_lost_to_change_stream_decoded_apart,omitempty"`
	TransactionsLostToAnalyticsApart float64 `json:"transactions_lost_to_analytics_decoded_apart,omitempty"`
	QuerySpeeds
	Gateway GatewayMemory `json:"gateway_memory"`
}

// CH runs transactions and analytics, alone and together, then every CH-benCHmark query on both stores.
func CH(ctx context.Context, o Options) (_ *report.Report, err error) {
	o.Rig.Prepare = createMarker
	r, err := rig.Start(ctx, o.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Stop(context.WithoutCancel(ctx))) }()
	results, err := mixedPhases(ctx, o, r)
	if err != nil {
		return nil, err
	}
	out := &CHResult{Phases: results}
	out.lose()
	if out.Gateway, err = gatewayMemory(r); err != nil {
		return nil, err
	}
	for _, p := range results {
		out.Gateway.Peak = max(out.Gateway.Peak, p.GatewayPeak, p.gatewayBefore)
	}
	if err := r.Vacuum(ctx); err != nil {
		return nil, err
	}
	if err := out.measure(ctx, o, r, ch.Queries()); err != nil {
		return nil, err
	}
	return out.report(o), nil
}

// lose computes what each side loses.
func (c *CHResult) lose() {
	phases := make(map[chPhase]*PhaseResult)
	for _, p := range c.Phases {
		phases[p.of] = p
	}
	alone := phases[phaseAlone]
	lost := func(phase chPhase) float64 {
		p := phases[phase]
		if p == nil {
			return 0
		}
		return 1 - p.TransactionsPerSecond/alone.TransactionsPerSecond
	}
	c.TransactionsLostToStream, c.TransactionsLostToStreamApart = lost(phaseStream), lost(phaseStreamApart)
	c.TransactionsLostToAnalytics, c.TransactionsLostToAnalyticsApart = lost(phaseBoth), lost(phaseBothApart)
	c.TransactionsLostToNeighbour = lost(phaseNeighbour)
	for _, p := range c.Phases {
		if p == alone || p.TransactionsPerSecond == 0 {
			continue
		}
		for i, rate := range p.TransactionRounds {
			p.LostRounds = append(p.LostRounds, 1-rate/alone.TransactionRounds[i])
		}
	}
	c.AnalyticsLost = 1 - phases[phaseBoth].QueriesPerSecond/phases[phaseAnalytics].QueriesPerSecond
}

// mixedPhases lets the phases take turns, every other round in the opposite order.
func mixedPhases(ctx context.Context, o Options, r *rig.Rig) (_ []*PhaseResult, err error) {
	var results []*PhaseResult
	for _, p := range chPhases(o.Rig.Pin) {
		results = append(results, &PhaseResult{Phase: p.name, of: p})
	}
	var beside *neighbour
	for round := range o.Rounds {
		o.Progress(fmt.Sprintf("round %d of %d: vacuuming", round+1, o.Rounds))
		if err := r.Vacuum(ctx); err != nil {
			return nil, err
		}
		order := slices.Clone(results)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, result := range order {
			o.Progress(fmt.Sprintf("round %d of %d: %s", round+1, o.Rounds, result.Phase))
			if result.of.neighbour && beside == nil {
				if beside, err = makeNeighbour(ctx, o, r); err != nil {
					return nil, err
				}
			}
			if err := runPhase(ctx, o, r, beside, result); err != nil {
				return nil, fmt.Errorf("%s: %w", result.Phase, err)
			}
		}
	}
	for _, p := range results {
		p.TransactionsPerSecond, p.QueriesPerSecond = mean(p.TransactionRounds), mean(p.QueryRounds)
		n := float64(o.Rounds)
		p.NewOrderP99MS, p.StalenessP50MS, p.StalenessP99MS = p.NewOrderP99MS/n, p.StalenessP50MS/n, p.StalenessP99MS/n
		p.StolenShare /= n
		if p.queries > 0 {
			p.ColumnarShare = float64(p.columnar) / float64(p.queries)
		}
	}
	return results, nil
}

// runPhase adds a round to a phase.
func runPhase(ctx context.Context, o Options, r *rig.Rig, beside *neighbour, p *PhaseResult) (err error) {
	if p.of.decodedApart {
		if err := r.PlaceSender(ctx, rig.ColumnarCore); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.PlaceSender(ctx, rig.OLTPCore)) }()
	}
	if p.of.suspended {
		if err := r.Suspend(); err != nil {
			return err
		}
		defer func() { _ = r.Resume() }() // again, in case of an error; resuming twice does nothing
	}
	if p.of.marker {
		m, err := startMarker(ctx, r, 10*time.Millisecond)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.stop()) }()
	}
	res, err := p.measure(ctx, o, r, beside)
	if err := errors.Join(err, r.Resume()); err != nil {
		return err
	}
	if res.Failures > 0 {
		o.Progress("a client failed: " + res.LastFailure)
	}
	p.add(res)
	return errors.Join(p.comparable(res), r.CaughtUp(ctx))
}

// comparable says that nothing was done in a round of a phase that others are compared with.
func (p *PhaseResult) comparable(res *driver.Report) error {
	if p.of == phaseAlone && res.TransactionsPerSecond == 0 || p.of == phaseAnalytics && res.AnalyticalQueriesPerSecond == 0 {
		return fmt.Errorf("nothing was done within %.1f s, with %d errors: give a longer --duration", res.Seconds, res.Failures)
	}
	return nil
}

// measure lets the phase's clients run, and beside them what they are measured against.
func (p *PhaseResult) measure(ctx context.Context, o Options, r *rig.Rig, beside *neighbour) (*driver.Report, error) {
	var l load
	if p.of.transactions {
		l.terminals = o.Terminals
	}
	if p.of.analytics {
		l.analysts = o.Analysts
	}
	before, err := rig.ReadMachine()
	if err != nil {
		return nil, err
	}
	if err := p.addMemory(r, &p.gatewayBefore); err != nil {
		return nil, err
	}
	stop := func() error { return nil }
	if p.of.neighbour {
		stop = beside.start(ctx, r, o.Analysts)
	}
	res, err := o.phase(ctx, r, l, "")
	if err := errors.Join(err, stop()); err != nil {
		return nil, err
	}
	if err := p.addMemory(r, &p.GatewayPeak); err != nil {
		return nil, err
	}
	after, err := rig.ReadMachine()
	p.StolenShare += after.StolenSince(before)
	return res, err
}

// add adds what the clients of a round achieved.
func (p *PhaseResult) add(res *driver.Report) {
	p.Failures += res.Failures
	p.TransactionRounds = append(p.TransactionRounds, res.TransactionsPerSecond)
	p.QueryRounds = append(p.QueryRounds, res.AnalyticalQueriesPerSecond)
	p.NewOrderP99MS += res.Transactions["new_order"].LatencyMS.P99
	p.StalenessP50MS += res.StalenessMS.P50
	p.StalenessP99MS += res.StalenessMS.P99
	p.queries += res.QueryLatencyMS.Count
	p.columnar += res.ColumnarQueries
}

// addMemory raises what was the most so far to the gateway's peak, which then begins anew.
func (p *PhaseResult) addMemory(r *rig.Rig, most *float64) error {
	m, err := gatewayMemory(r)
	if err != nil {
		return err
	}
	*most = max(*most, m.Peak)
	return r.ResetPeak()
}

func (c *CHResult) report(o Options) *report.Report {
	r := o.describe("ch", "CH-benCHmark: transactions and analytics side by side")
	r.AddSetting("no change stream", "the gateway's process is suspended; wal_level is logical all the same")
	r.AddSetting("analytics alone", "100 commits/s of one row, so that no query finds its result already there")
	r.AddSetting("query by query", fmt.Sprintf("the least of %d runs per store, each on a new snapshot, nothing else running", queryRuns))
	r.Data = c
	phases := report.Table{Title: "Rates in the mean over the rounds", Columns: []string{
		"phase", "transactions/s", "lost, by round", "queries/s", "New-Order p99 ms", "staleness p50 ms", "p99 ms", "columnar", "errors", "CPU stolen by the host"}}
	rates := report.Chart{Title: "Transactions per second", Labels: nil, Series: []report.Series{{Name: "transactions/s"}}}
	for _, p := range c.Phases {
		phases.Rows = append(phases.Rows, cells("%s|%s|%s|%s|%s|%s|%s|%s|%d|%.1f %%", p.Phase, unlessZero("%.0f", p.TransactionsPerSecond),
			span(p.LostRounds), unlessZero("%.1f", p.QueriesPerSecond), unlessZero("%.1f", p.NewOrderP99MS), unlessZero("%.1f", p.StalenessP50MS),
			unlessZero("%.1f", p.StalenessP99MS), unlessZero("%.0f %%", 100*p.ColumnarShare), p.Failures, 100*p.StolenShare))
		if p.TransactionsPerSecond > 0 {
			rates.Labels = append(rates.Labels, p.of.short)
			rates.Series[0].Values = append(rates.Series[0].Values, p.TransactionsPerSecond)
		}
	}
	r.Tables = append(r.Tables, phases, c.table())
	r.Charts = append(r.Charts, rates, c.chart())
	r.AtMost("transactions lost to the change stream", 100*c.TransactionsLostToStream, 5, "%.1f %%")
	r.AtMost("transactions lost to the change stream and saturating analytics", 100*c.TransactionsLostToAnalytics, 10, "%.1f %%")
	if o.Rig.Pin {
		r.AtMost("transactions lost to the change stream, decoded on the columnar core", 100*c.TransactionsLostToStreamApart, 5, "%.1f %%")
		r.AtMost("transactions lost to both, decoded on the columnar core", 100*c.TransactionsLostToAnalyticsApart, 10, "%.1f %%")
		r.AddSetting("queries on plain tables", "the engine's statements for the analysts' queries on merged tables that nothing changes, sent to the engine itself while the gateway is suspended: what both cores share, without Freshet")
	}
	r.AtMost("analytics lost to full transactions", 100*c.AnalyticsLost, 5, "%.1f %%")
	c.judge(r, 10)
	full := 0.0
	for _, p := range c.Phases[1 : len(c.Phases)-1] { // with transactions and with the stream
		full = max(full, p.GatewayPeak)
	}
	r.AtMost("gateway memory at the full rate, peak", full, 300, "%.0f MiB")
	r.AddSetting("gateway memory, peak of the whole benchmark", fmt.Sprintf("%.0f MiB; tables are copied in it, and a gateway that was suspended catches up", c.Gateway.Peak))
	return r
}

// span tells the least and the most of some shares.
func span(shares []float64) string {
	if len(shares) == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f to %.1f %%", 100*slices.Min(shares), 100*slices.Max(shares))
}
