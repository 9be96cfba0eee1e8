package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/gateway/shares"
)

// shareholders are the tenants of [Shares] and what they hold; each has a user of its name.
var shareholders = []struct {
	name   string
	shares int
}{{"gold", 400}, {"silver", 200}, {"bronze", 100}}

// clientsPerTenant is enough to keep every tenant waiting, so that all of them contend: twice the dispatcher's slots.
const clientsPerTenant = 8

// The statements of tenants, each with a place for a number that makes it one of its own: no answer is shared.
const (
	shortStatement  = "SELECT count(*), sum(ol_amount) FROM order_line WHERE ol_amount > %d::numeric / 1000000"
	middleStatement = "SELECT ol_number, count(*), sum(ol_quantity), sum(ol_amount) FROM order_line WHERE ol_amount > %d::numeric / 1000000 GROUP BY ol_number"
	longStatement   = "SELECT i_im_id, count(*), sum(ol_amount) FROM order_line JOIN item ON i_id = ol_i_id WHERE ol_amount > %d::numeric / 1000000 GROUP BY i_im_id ORDER BY 3 DESC LIMIT 10"
)

// sharesPhases are what [Shares] compares, in turn.
var sharesPhases = []struct {
	name       string
	shares     bool
	statements []string // of the shareholders
}{
	{"no shares, equal statements", false, []string{middleStatement, middleStatement, middleStatement}},
	{"4:2:1, equal statements", true, []string{middleStatement, middleStatement, middleStatement}},
	{"4:2:1, the poorest has the longest", true, []string{shortStatement, middleStatement, longStatement}},
	{"4:2:1, the richest has the longest", true, []string{longStatement, middleStatement, shortStatement}},
}

// TenantUse is what one tenant got in a phase.
type TenantUse struct {
	Tenant string `json:"tenant"`
	Shares int    `json:"shares"`
	// CPUSeconds is what the engine consumed for it; 0 where no shares were in force. Part is its part of all tenants', Deviation how
	// far that is from what its shares entitle it to, relative to that.
	CPUSeconds float64 `json:"cpu_seconds"`
	Part       float64 `json:"part"`
	Deviation  float64 `json:"deviation"`

	Queries          int64   `json:"queries"`
	QueriesPerSecond float64 `json:"queries_per_second"`
}

// SharesPhase is the outcome of one phase, over all rounds.
type SharesPhase struct {
	Phase   string      `json:"phase"`
	Tenants []TenantUse `json:"tenants"`
	// Worst is the greatest deviation of a tenant.
	Worst            float64 `json:"worst_deviation"`
	QueriesPerSecond float64 `json:"queries_per_second"`
	// EngineCPUSeconds is the CPU time of the engine's process, TenantCPUSeconds what tenants were charged for.
	EngineCPUSeconds float64 `json:"engine_cpu_seconds"`
	TenantCPUSeconds float64 `json:"tenant_cpu_seconds"`

	seconds float64
}

// SharesResult is the outcome of [Shares].
type SharesResult struct {
	Phases []*SharesPhase `json:"phases"`
	// Throughput is that of equal statements with shares, relative to none.
	Throughput float64 `json:"throughput_ratio"`
}

// Shares measures how the engine's CPU time is divided among tenants that all want more than there is.
func Shares(ctx context.Context, o Options) (_ *report.Report, err error) {
	o.Rig.Prepare = createShareholders
	r, err := rig.Start(ctx, o.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Stop(context.WithoutCancel(ctx))) }()
	out := &SharesResult{}
	for _, p := range sharesPhases {
		phase := &SharesPhase{Phase: p.name}
		for _, h := range shareholders {
			phase.Tenants = append(phase.Tenants, TenantUse{Tenant: h.name, Shares: h.shares})
		}
		out.Phases = append(out.Phases, phase)
	}
	for round := range o.Rounds {
		for n, p := range sharesPhases {
			o.Progress(fmt.Sprintf("%s, round %d of %d", p.name, round+1, o.Rounds))
			if err := sharesRound(ctx, o, r, p.shares, p.statements, out.Phases[n]); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
		}
	}
	for _, p := range out.Phases {
		p.sum()
	}
	out.Throughput = out.Phases[1].QueriesPerSecond / out.Phases[0].QueriesPerSecond
	return out.report(o), nil
}

func createShareholders(ctx context.Context, conn *pgx.Conn) error {
	for _, h := range shareholders {
		sql := fmt.Sprintf("CREATE ROLE %[1]s LOGIN PASSWORD '%[1]s'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO %[1]s", h.name)
		if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
			return fmt.Errorf("create user %s: %w", h.name, err)
		}
	}
	return nil
}

// sharesFile is the gateway's file of tenants.
func sharesFile(inForce bool) ([]byte, error) {
	var f shares.File
	if inForce {
		for _, h := range shareholders {
			f.Tenants = append(f.Tenants, shares.FileTenant{Name: h.name, Users: []string{h.name}, Shares: h.shares})
		}
	}
	return shares.Render(f)
}

// sharesRound runs all clients for a phase's duration and adds to the phase what they got.
func sharesRound(ctx context.Context, o Options, r *rig.Rig, inForce bool, statements []string, out *SharesPhase) error {
	file, err := sharesFile(inForce)
	if err != nil {
		return err
	}
	if err := r.SetTenants(ctx, file); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var clients sync.WaitGroup
	answered := make([]atomic.Int64, len(shareholders))
	failed := make(chan error, len(shareholders)*clientsPerTenant)
	for n, h := range shareholders {
		for c := range clientsPerTenant {
			seed := rand.New(rand.NewPCG(uint64(n), uint64(c)))
			clients.Go(func() { failed <- ask(running, r, h.name, statements[n], seed, &answered[n]) })
		}
	}
	err = sharesInterval(running, o, r, answered, out)
	stop()
	clients.Wait()
	close(failed)
	for e := range failed {
		err = errors.Join(err, e)
	}
	return err
}

// ask repeats a statement until ctx ends.
func ask(ctx context.Context, r *rig.Rig, user, statement string, numbers *rand.Rand, answered *atomic.Int64) error {
	endpoint, err := url.Parse(r.Endpoint())
	if err != nil {
		return err
	}
	endpoint.User = url.UserPassword(user, user)
	conn, err := pgconn.Connect(ctx, endpoint.String())
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		return fmt.Errorf("connect as %s: %w", user, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "SET freshet.route = 'columnar'; SET freshet.freshness = 'eventual'").ReadAll()
	for err == nil {
		if _, err = conn.Exec(ctx, fmt.Sprintf(statement, numbers.IntN(1_000_000))).ReadAll(); err == nil {
			answered.Add(1)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("run the statement of %s: %w", user, err)
}

// sharesInterval adds what is used from the end of the warm-up to the end of the duration.
func sharesInterval(ctx context.Context, o Options, r *rig.Rig, answered []atomic.Int64, out *SharesPhase) error {
	type reading struct {
		at      time.Time
		tenants map[string]time.Duration
		cpu     rig.CPU
		queries []int64
	}
	read := func(after time.Duration) (now reading, err error) {
		select {
		case <-time.After(after):
		case <-ctx.Done():
			return now, ctx.Err()
		}
		now.at = time.Now()
		for n := range answered {
			now.queries = append(now.queries, answered[n].Load())
		}
		if now.tenants, err = r.TenantCPU(ctx); err != nil {
			return now, err
		}
		now.cpu, err = r.CPU()
		return now, err
	}
	before, err := read(o.Warmup)
	if err != nil {
		return err
	}
	after, err := read(o.Duration)
	if err != nil {
		return err
	}
	for n := range out.Tenants {
		t := &out.Tenants[n]
		t.CPUSeconds += (after.tenants[t.Tenant] - before.tenants[t.Tenant]).Seconds()
		t.Queries += after.queries[n] - before.queries[n]
	}
	for tenant, used := range after.tenants {
		out.TenantCPUSeconds += (used - before.tenants[tenant]).Seconds()
	}
	out.EngineCPUSeconds += after.cpu.Sub(before.cpu).Engine.Seconds()
	out.seconds += after.at.Sub(before.at).Seconds()
	return nil
}

// sum computes the rates and parts.
func (p *SharesPhase) sum() {
	held, used, queries := 0, 0.0, int64(0)
	for _, t := range p.Tenants {
		held += t.Shares
		used += t.CPUSeconds
		queries += t.Queries
	}
	p.QueriesPerSecond = float64(queries) / p.seconds
	for n := range p.Tenants {
		t := &p.Tenants[n]
		t.QueriesPerSecond = float64(t.Queries) / p.seconds
		if used == 0 { // all were one tenant
			continue
		}
		t.Part = t.CPUSeconds / used
		t.Deviation = t.Part*float64(held)/float64(t.Shares) - 1
		p.Worst = max(p.Worst, math.Abs(t.Deviation))
	}
}

func (s *SharesResult) report(o Options) *report.Report {
	r := o.header("shares", "Engine CPU time of three tenants that all want more than there is")
	cores := "not pinned"
	if o.Rig.Pin {
		cores = fmt.Sprintf("engine and gateway on core %d, PostgreSQL and clients on core %d", rig.ColumnarCore, rig.OLTPCore)
	}
	r.AddSetting("cores", cores)
	r.AddSetting("clients", fmt.Sprintf("%d of each tenant, one statement after the other; no transactions", clientsPerTenant))
	r.AddSetting("phases", fmt.Sprintf("%d × %v after %v of warm-up, in turn", o.Rounds, o.Duration, o.Warmup))
	r.Data = s
	t := report.Table{Title: "Tenants", Columns: []string{"phase", "tenant", "CPU s", "part", "of its shares", "queries/s"}}
	sums := report.Table{Title: "All tenants", Columns: []string{"phase", "queries/s", "engine CPU s", "charged CPU s"}}
	chart := report.Chart{Title: "CPU time of each tenant", Unit: "s"}
	for _, h := range shareholders {
		chart.Series = append(chart.Series, report.Series{Name: h.name})
	}
	for _, p := range s.Phases {
		sums.Rows = append(sums.Rows, cells("%s|%.1f|%.1f|%.1f", p.Phase, p.QueriesPerSecond, p.EngineCPUSeconds, p.TenantCPUSeconds))
		for _, u := range p.Tenants {
			row := []string{p.Phase, u.Tenant, "–", "–", "–", fmt.Sprintf("%.1f", u.QueriesPerSecond)}
			if u.Part > 0 {
				row = cells("%s|%s|%.2f|%.1f %%|%+.1f %%|%.1f", p.Phase, u.Tenant, u.CPUSeconds, 100*u.Part, 100*u.Deviation, u.QueriesPerSecond)
			}
			t.Rows = append(t.Rows, row)
		}
		if p.Worst == 0 {
			continue
		}
		r.AtMost("worst deviation from shares: "+p.Phase, 100*p.Worst, 5, "%.1f %%")
		chart.Labels = append(chart.Labels, p.Phase)
		for n, u := range p.Tenants {
			chart.Series[n].Values = append(chart.Series[n].Values, u.CPUSeconds)
		}
	}
	r.AtLeast("throughput with shares, relative to none", s.Throughput, 0.95, "%.2f")
	r.Tables, r.Charts = []report.Table{t, sums}, []report.Chart{chart}
	return r
}
