package differential

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
)

// flawed answers by PostgreSQL, but that it takes FULL JOIN for LEFT JOIN and breaks down on round.
type flawed struct{ session *Postgres }

func (f flawed) Answer(ctx context.Context, st Statement) (Outcome, error) {
	if strings.Contains(st.SQL, "round(") {
		return Outcome{Defect: errors.New("cannot do it")}, nil
	}
	st.SQL = strings.ReplaceAll(st.SQL, "FULL JOIN", "LEFT JOIN")
	if refused, err := f.session.Describe(ctx, &st); refused != nil || err != nil {
		return Outcome{Reason: "refused"}, err
	}
	a, err := f.session.Answer(ctx, st)
	return Outcome{Columnar: true, Answer: &a}, err
}

// A comparison that finds nothing is only worth something if it would find what is there.
func TestRun_findsFlawsAndReducesThem(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	dir := t.TempDir()
	report, err := Run(t.Context(), Config{
		Seed: *firstSeed, Queries: 300, PerWorld: 300, Dir: dir, ReduceLimit: 120,
		Open: func(ctx context.Context, w *sqlgen.World) (Sides, error) {
			s, closeWorld, err := openPostgres(ctx, server, w)
			if err != nil {
				return Sides{}, err
			}
			other, err := Connect(ctx, server.URL(worldDatabase(w)), w)
			return Sides{World: w, Postgres: s, Columnar: flawed{other}, Close: closeWorld}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Differences) == 0 || len(report.Defects) == 0 {
		t.Fatalf("found no flaw:\n%s", report)
	}
	if report.Columnar < 100 {
		t.Errorf("only %d answers are equal:\n%s", report.Columnar, report)
	}
	small := 0
	for _, f := range report.Differences {
		text, err := os.ReadFile(f.File)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("FULL")) {
			t.Errorf("a difference without a cause:\n%s", text)
		}
		if len(f.Title) < 150 {
			small++
		}
	}
	if small == 0 {
		t.Errorf("no difference was made small:\n%s", report)
	}
}
