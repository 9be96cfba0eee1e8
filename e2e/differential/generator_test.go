package differential

import (
	"context"
	"flag"
	"testing"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
)

var fairQueries = flag.Int("fair-queries", 600, "queries for the test of the generator itself")

// The generator is only worth something if its queries run, find rows, and have one right answer.
func TestGenerator_queriesHaveOneAnswer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := startPostgres(t)
	const perWorld = 60 // worlds differ more than the queries of one
	var run, failed, late, empty int
	errorsSeen := map[string]int{}
	for seed := *firstSeed; run < *fairQueries; seed++ {
		w := sqlgen.NewWorld(seed)
		s, closeWorld, err := openPostgres(ctx, server, w)
		if err != nil {
			t.Fatal(err)
		}
		for n := range uint64(perWorld) {
			q := w.Generate(n)
			answer := ask(ctx, t, s, q)
			run++
			switch {
			case answer.Err != nil && answer.Err.Code == "57014":
				late++
				t.Logf("slow: seed %d/%d: %s", seed, n, q.SQL)
			case answer.Err != nil:
				failed++
				errorsSeen[answer.Err.Code+" "+answer.Err.Message]++
				if answer.Err.Code[:2] == "42" {
					t.Logf("invalid: seed %d/%d: %s: %s\n%s", seed, n, answer.Err.Code, answer.Err.Message, q.SQL)
				}
			case len(answer.Rows) == 0:
				empty++
			}
			if answer.Err == nil {
				requireOneAnswer(ctx, t, s, w, n, q, answer)
			}
		}
		if err := closeWorld(ctx); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d queries: %.1f %% fail, %.1f %% too slow, %.1f %% find nothing; errors %v", run, percent(failed, run), percent(late, run), percent(empty, run), errorsSeen)
	if percent(failed, run) > 5 || percent(empty, run) > 40 || percent(late, run) > 1 {
		t.Errorf("the generator's queries are not worth running")
	}
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

// ask runs a query on PostgreSQL.
func ask(ctx context.Context, t *testing.T, s *Postgres, q sqlgen.Query) Answer {
	t.Helper()
	st, err := NewStatement(q)
	if err != nil {
		t.Fatal(err)
	}
	refused, err := s.Describe(ctx, &st)
	if err != nil {
		t.Fatalf("%v\n%s", err, q.SQL)
	}
	if refused != nil {
		return *refused
	}
	a, err := s.Answer(ctx, st)
	if err != nil {
		t.Fatalf("%v\n%s", err, q.SQL)
	}
	return a
}

func requireOneAnswer(ctx context.Context, t *testing.T, s *Postgres, w *sqlgen.World, n uint64, q sqlgen.Query, want Answer) {
	t.Helper()
	st, err := NewStatement(q)
	if err != nil {
		t.Fatal(err)
	}
	for _, settings := range planSettings {
		got, err := s.AnswerWithPlan(ctx, st, settings)
		if err != nil {
			t.Fatal(err)
		}
		if got.Err != nil { // whether a row that fails is ever looked at may depend on the plan
			continue
		}
		if d := Compare(want, got, q); d != "" {
			t.Errorf("world %d query %d has several answers: %s\nunder %s\n%s", w.Seed, n, d, settings, q.SQL)
		}
	}
}
