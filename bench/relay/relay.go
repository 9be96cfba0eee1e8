package relay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/bench"
	"github.com/freshet-io/freshet/bench/report"
	"github.com/freshet-io/freshet/bench/rig"
)

// The targets of the gateway's throughput, relative to PgBouncer's.
const (
	goal  = 1.0
	floor = 0.85
)

// scale is pgbench's: 100,000 rows of accounts each.
const scale = 5

// Result is what was measured at one number of clients in one of pgbench's query modes, as transactions per
// second, the median over the rounds.
type Result struct {
	Mode      string  `json:"mode"`
	Clients   int     `json:"clients"`
	Direct    float64 `json:"direct_tps"`
	PgBouncer float64 `json:"pgbouncer_tps"`
	Gateway   float64 `json:"gateway_tps"`
	// Ratio is the median over the rounds of the gateway's rate to PgBouncer's in the same round.
	Ratio float64 `json:"gateway_to_pgbouncer"`
}

// Summary is the benchmark's result.
type Summary struct {
	Results []Result `json:"results"`
	// Ratio is the geometric mean of the results' ratios.
	Ratio float64 `json:"gateway_to_pgbouncer"`
}

// Run measures. pgbench and pgbouncer must be on PATH.
func Run(ctx context.Context, o bench.Options) (_ *report.Report, err error) {
	for _, tool := range []string{"pgbench", "pgbouncer"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, fmt.Errorf("find %s: %w; install it (Debian: postgresql-contrib, pgbouncer)", tool, err)
		}
	}
	o.Rig.Warehouses = 1
	o.Rig.Prepare = func(ctx context.Context, conn *pgx.Conn) error { // before the replica's copy, which would run beside the first rounds
		o.Progress("loading pgbench's tables")
		_, err := pgbench(ctx, "-i", "-q", "-s", strconv.Itoa(scale), conn.Config().ConnString())
		return err
	}
	r, err := rig.Start(ctx, o.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Stop(context.WithoutCancel(ctx))) }()
	bouncer, err := startBouncer(ctx, r, o.Rig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bouncer.stop()) }()
	s, err := measure(ctx, o, []string{r.OLTP(), bouncer.url, r.Endpoint()})
	if err != nil {
		return nil, err
	}
	return present(o, s), nil
}

// measure takes o.Rounds rounds of every mode and number of clients on each of the three ways.
func measure(ctx context.Context, o bench.Options, ways []string) (*Summary, error) {
	s := &Summary{}
	logs := 0.0
	for _, mode := range []string{"simple", "prepared"} {
		for _, clients := range []int{1, 8, 32} {
			var rates [3][]float64
			var ratios []float64
			for round := range o.Rounds {
				o.Progress(fmt.Sprintf("%s, %d clients, round %d", mode, clients, round+1))
				for i, url := range ways {
					rate, err := run(ctx, url, mode, clients, o.Duration)
					if err != nil {
						return nil, err
					}
					rates[i] = append(rates[i], rate)
				}
				ratios = append(ratios, rates[2][round]/rates[1][round])
			}
			res := Result{Mode: mode, Clients: clients, Direct: report.Median(rates[0]), PgBouncer: report.Median(rates[1]),
				Gateway: report.Median(rates[2]), Ratio: report.Median(ratios)}
			s.Results = append(s.Results, res)
			logs += math.Log(res.Ratio)
		}
	}
	s.Ratio = math.Exp(logs / float64(len(s.Results)))
	return s, nil
}

// run returns the rate of pgbench -S over a duration of whole seconds, one at least.
func run(ctx context.Context, url, mode string, clients int, d time.Duration) (float64, error) {
	seconds := max(1, int(d.Round(time.Second)/time.Second))
	out, err := pgbench(ctx, "-n", "-S", "-M", mode, "-c", strconv.Itoa(clients), "-j", "1", "-T", strconv.Itoa(seconds), url)
	if err != nil {
		return 0, err
	}
	return parseRate(out)
}

var rateLine = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \(without initial connection time\)`)

// parseRate reads the rate from what pgbench prints.
func parseRate(out []byte) (float64, error) {
	m := rateLine.FindSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("read pgbench's rate: no such line in %q", out)
	}
	return strconv.ParseFloat(string(m[1]), 64)
}

func pgbench(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "pgbench", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run pgbench: %w: %s", errors.Join(err, ctx.Err()), bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

func present(o bench.Options, s *Summary) *report.Report {
	r := &report.Report{Name: "relay", Title: "pgbench -S through the gateway, through PgBouncer in session mode, and directly", Measured: time.Now(), Data: s}
	r.AddSetting("scale", scale)
	r.AddSetting("phases", fmt.Sprintf("%d × %v for each, in turn", o.Rounds, o.Duration))
	if o.Rig.Pin {
		r.AddSetting("cores", fmt.Sprintf("PostgreSQL and pgbench on core %d; the gateway, the engine and PgBouncer on core %d", rig.OLTPCore, rig.ColumnarCore))
	}
	r.AtLeast("gateway against PgBouncer, geometric mean", s.Ratio, floor, "%.2f×")
	r.AtLeast("gateway against PgBouncer, the goal", s.Ratio, goal, "%.2f×")
	t := report.Table{Title: "transactions per second", Columns: []string{"mode, clients", "direct", "PgBouncer", "gateway", "gateway / PgBouncer"}}
	c := report.Chart{Title: "Transactions per second", Unit: "1/s", Series: []report.Series{{Name: "direct"}, {Name: "PgBouncer"}, {Name: "gateway"}}}
	for _, v := range s.Results {
		label := fmt.Sprintf("%s, %d", v.Mode, v.Clients)
		t.Rows = append(t.Rows, []string{label, fmt.Sprintf("%.0f", v.Direct), fmt.Sprintf("%.0f", v.PgBouncer), fmt.Sprintf("%.0f", v.Gateway), fmt.Sprintf("%.2f×", v.Ratio)})
		c.Labels = append(c.Labels, label)
		for i, y := range []float64{v.Direct, v.PgBouncer, v.Gateway} {
			c.Series[i].Values = append(c.Series[i].Values, y)
		}
	}
	r.Tables, r.Charts = append(r.Tables, t), append(r.Charts, c)
	return r
}
