package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/workload/ch"
	"github.com/freshet-io/freshet/workload/driver"
)

// watch runs the driver and shows how it goes: a live view on a terminal, lines elsewhere.
func watch(ctx context.Context, d *driver.Driver, at platform.Platform, out io.Writer) (*driver.Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		report *driver.Report
		err    error
	}
	done := make(chan outcome, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r, err := d.Run(ctx)
		done <- outcome{r, err}
	}()
	if isTerminal(out) {
		view := tea.NewProgram(demoView{driver: d, at: at, ended: ended, cancel: cancel}, tea.WithOutput(out), tea.WithoutSignalHandler())
		if _, err := view.Run(); err != nil {
			cancel()
			<-ended
			return nil, fmt.Errorf("show the live view: %w", err)
		}
		<-ended
	} else {
		writeLines(d, ended, out)
	}
	o := <-done
	if o.err == nil && ctx.Err() != nil {
		o.err = ctx.Err() // the person at the terminal has seen enough
	}
	return o.report, o.err
}

// lineEvery is the time between two lines where there is no terminal.
const lineEvery = 5 * time.Second

func writeLines(d *driver.Driver, ended <-chan struct{}, out io.Writer) {
	tick := time.NewTicker(lineEvery)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			p := d.Progress()
			fmt.Fprintf(out, "%-17s %3.0f s  %6.0f transactions/s  %5.1f queries/s  staleness p50 %.0f ms p99 %.0f ms  %d snapshots checked, %d violations\n",
				p.Phase, p.Elapsed.Seconds(), rate(p.Transactions, p.Elapsed), rate(p.Queries, p.Elapsed),
				p.Staleness.P50, p.Staleness.P99, p.SnapshotsChecked, p.Violations)
		}
	}
}

// demoView is the live view. It holds what it shows; bubbletea copies it.
type demoView struct {
	driver *driver.Driver
	at     platform.Platform
	ended  <-chan struct{}
	cancel context.CancelFunc

	now, before   driver.Progress // the latest two
	transactions  []float64       // per second, one for each refresh
	queries       []float64
	interruptedBy string
}

type refreshMsg struct{}
type endedMsg struct{}

const refreshEvery = 500 * time.Millisecond

func refresh() tea.Cmd {
	return tea.Tick(refreshEvery, func(time.Time) tea.Msg { return refreshMsg{} })
}

// Init implements tea.Model.
func (v demoView) Init() tea.Cmd {
	return tea.Batch(refresh(), func() tea.Msg { <-v.ended; return endedMsg{} })
}

// Update implements tea.Model.
func (v demoView) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case endedMsg:
		v.now = v.driver.Progress()
		return v, tea.Quit
	case tea.KeyMsg:
		if k := msg.String(); k == "ctrl+c" || k == "q" {
			v.interruptedBy = k
			v.cancel() // endedMsg follows
		}
	case refreshMsg:
		v.before, v.now = v.now, v.driver.Progress()
		if span := v.now.Elapsed - v.before.Elapsed; v.now.Phase == driver.Measuring && span > 0 {
			v.transactions = latest(v.transactions, rate(v.now.Transactions-v.before.Transactions, span))
			v.queries = latest(v.queries, rate(v.now.Queries-v.before.Queries, span))
		}
		return v, refresh()
	}
	return v, nil
}

var (
	titleStyle = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("6"))
	goodStyle  = lipgloss.NewStyle().Foreground(lipgloss.Color("2"))
	badStyle   = lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Color("1"))
	faintStyle = lipgloss.NewStyle().Faint(true)
)

// View implements tea.Model.
func (v demoView) View() string {
	p := v.now
	var b strings.Builder
	fmt.Fprintf(&b, "\n  %s  %s\n\n", titleStyle.Render("Freshet"), faintStyle.Render("TPC-C and CH-benCHmark through one endpoint"))
	fmt.Fprintf(&b, "  %s %s\n\n", bar(p), p.Phase)
	fmt.Fprintf(&b, "  transactions    %8.0f /s   %s\n", newest(v.transactions), sparkline(v.transactions))
	fmt.Fprintf(&b, "  analytics       %8.1f /s   %s\n", newest(v.queries), sparkline(v.queries))
	fmt.Fprintf(&b, "  staleness       %8.0f ms   p50    %.0f ms p99\n", p.Staleness.P50, p.Staleness.P99)
	fmt.Fprintf(&b, "  query latency   %8.1f ms   p50    %.1f ms p99\n", p.QueryLatency.P50, p.QueryLatency.P99)
	fmt.Fprintf(&b, "  consistency     %8d      snapshots checked, %s\n", p.SnapshotsChecked, verdict(p.Violations, "violations"))
	fmt.Fprintf(&b, "  answers         %8d      compared with PostgreSQL, %s\n\n", p.AnswersCompared, verdict(p.AnswersDifferent, "different"))
	hint := "psql " + v.at.URL + "\n  Ctrl-C ends the demo; nothing is left running"
	if v.interruptedBy != "" {
		hint = "ending …"
	}
	return b.String() + "  " + faintStyle.Render(hint) + "\n"
}

func verdict(bad int, what string) string {
	text := fmt.Sprintf("%d %s", bad, what)
	if bad > 0 {
		return badStyle.Render(text)
	}
	return goodStyle.Render(text)
}

func bar(p driver.Progress) string {
	const width = 40
	full := 0
	if p.Total > 0 {
		full = min(width, int(float64(width)*float64(p.Elapsed)/float64(p.Total)))
	}
	return goodStyle.Render(strings.Repeat("█", full)) + faintStyle.Render(strings.Repeat("░", width-full))
}

// sparkline draws values as bars of eight heights.
func sparkline(values []float64) string {
	heights := []rune("▁▂▃▄▅▆▇█")
	var top float64
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	for _, v := range values {
		i := 0
		if top > 0 {
			i = int(v / top * float64(len(heights)-1))
		}
		b.WriteRune(heights[i])
	}
	return b.String()
}

// latest appends a value and keeps what fits the view.
func latest(values []float64, v float64) []float64 {
	const most = 40
	values = append(values, v)
	return values[max(0, len(values)-most):]
}

func newest(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return values[len(values)-1]
}

func rate(n int64, span time.Duration) float64 {
	if span <= 0 {
		return 0
	}
	return float64(n) / span.Seconds()
}

// printDemo prints the report.
func printDemo(out io.Writer, r *driver.Report) {
	newOrder := r.Transactions[ch.NewOrder.String()].LatencyMS
	fmt.Fprintf(out, `
%d warehouses, %d transactional and %d analytical clients, %.0f s

  transactions/s            %10.1f   (New-Order p50 %.1f ms, p99 %.1f ms)
  analytical queries/s      %10.1f   (p50 %.1f ms, p99 %.1f ms; %d of %d on the columnar replica)
  staleness                 %10.1f ms p50, %.1f ms p99
  snapshots checked         %10d   TPC-C consistency conditions: %d violations
  answers compared          %10d   with PostgreSQL on the same snapshot, %d by the columnar replica: %d different
`,
		r.Settings.Warehouses, r.Settings.TransactionClients, r.Settings.AnalyticalClients, r.Seconds,
		r.TransactionsPerSecond, newOrder.P50, newOrder.P99,
		r.AnalyticalQueriesPerSecond, r.QueryLatencyMS.P50, r.QueryLatencyMS.P99, r.ColumnarQueries, r.QueryLatencyMS.Count,
		r.StalenessMS.P50, r.StalenessMS.P99,
		r.SnapshotsChecked, r.Violations,
		r.AnswersCompared, r.AnswersColumnar, r.AnswersDifferent)
	if r.FirstViolation != "" {
		fmt.Fprintf(out, "\n  first violation: %s\n", r.FirstViolation)
	}
	for _, difference := range r.Differences {
		fmt.Fprintf(out, "\n  different: %s\n", difference)
	}
}
