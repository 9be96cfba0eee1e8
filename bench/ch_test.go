package bench

import (
	"fmt"
	"testing"

	"github.com/freshet-io/freshet/workload/driver"
)

func TestPhase_withoutWorkIsNoMeasureOfOthers(t *testing.T) {
	for _, test := range []struct {
		of                    chPhase
		transactions, queries float64
		ok                    bool
	}{
		{phaseAlone, 0, 0, false}, {phaseAlone, 1, 0, true},
		{phaseAnalytics, 0, 0, false}, {phaseAnalytics, 0, 1, true},
		{phaseBoth, 0, 0, true}, // it lost all
	} {
		p := &PhaseResult{of: test.of}
		err := p.comparable(&driver.Report{TransactionsPerSecond: test.transactions, AnalyticalQueriesPerSecond: test.queries})
		if (err == nil) != test.ok {
			t.Errorf("%s with %v transactions/s and %v queries/s: %v", test.of.short, test.transactions, test.queries, err)
		}
	}
}

func TestLose_tellsWhatEachPhaseLost(t *testing.T) {
	phase := func(of chPhase, transactions, queries float64) *PhaseResult {
		p := &PhaseResult{of: of, TransactionsPerSecond: transactions, QueriesPerSecond: queries}
		if transactions > 0 {
			p.TransactionRounds = []float64{transactions - 100, transactions + 100}
		}
		return p
	}
	c := &CHResult{Phases: []*PhaseResult{phase(phaseAlone, 1000, 0), phase(phaseStream, 900, 0), phase(phaseBoth, 800, 15), phase(phaseAnalytics, 0, 20)}}
	c.lose()
	got := fmt.Sprintf("%.3f %.3f %.3f %.3f, by round %.3f", c.TransactionsLostToStream, c.TransactionsLostToAnalytics, c.AnalyticsLost,
		c.TransactionsLostToNeighbour, c.Phases[2].LostRounds)
	if want := "0.100 0.200 0.250 0.000, by round [0.222 0.182]"; got != want {
		t.Errorf("lost %s, want %s", got, want)
	}
}
