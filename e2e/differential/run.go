package differential

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
)

// Sides are one world in both engines.
type Sides struct {
	World    *sqlgen.World
	Postgres *Postgres
	Columnar Columnar
	// Through puts a query in another way before it is given to both; nil leaves it as it is.
	Through func(ctx context.Context, q sqlgen.Query) (sqlgen.Query, error)
	// Churn changes the world's rows; it is called from time to time unless it is nil.
	Churn func(ctx context.Context, n uint64) error
	Close func(context.Context) error
}

// Config says what to run.
type Config struct {
	// Seed is the first world's; the following worlds have the following seeds.
	Seed uint64
	// Queries is how many to run at least, PerWorld how many on one world.
	Queries, PerWorld int
	// Workers is how many worlds are worked on at a time.
	Workers int
	// Until ends the run early; zero for never.
	Until time.Time
	// Dir receives reproducers, made small by up to ReduceLimit runs each.
	Dir         string
	ReduceLimit int
	// Open makes a world in both engines.
	Open func(ctx context.Context, w *sqlgen.World) (Sides, error)
	// Clock is time.Now if nil.
	Clock func() time.Time
}

// Run compares the two engines. The error means that the run itself broke down.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	r := &runner{cfg: cfg, report: NewReport()}
	if r.cfg.Clock == nil {
		r.cfg.Clock = time.Now
	}
	worlds := (cfg.Queries + cfg.PerWorld - 1) / cfg.PerWorld
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(cfg.Workers, 1))
	for i := range worlds {
		g.Go(func() error { return r.world(ctx, cfg.Seed+uint64(i)) })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return r.report, nil
}

type runner struct {
	cfg     Config
	report  *Report
	reduced atomic.Int64
}

// churnEvery is the number of queries between changes of the rows.
const churnEvery = 40

func (r *runner) late() bool { return !r.cfg.Until.IsZero() && r.cfg.Clock().After(r.cfg.Until) }

func (r *runner) world(ctx context.Context, seed uint64) (err error) {
	if r.late() || ctx.Err() != nil {
		return nil
	}
	sides, err := r.cfg.Open(ctx, sqlgen.NewWorld(seed))
	if err != nil {
		return fmt.Errorf("open world %d: %w", seed, err)
	}
	defer func() { err = errors.Join(err, sides.Close(context.WithoutCancel(ctx))) }()
	for n := range uint64(r.cfg.PerWorld) {
		if r.late() || ctx.Err() != nil {
			return nil
		}
		if sides.Churn != nil && n%churnEvery == churnEvery-1 {
			if err := sides.Churn(ctx, n); err != nil {
				return err
			}
		}
		if err := r.query(ctx, sides, n); err != nil {
			return fmt.Errorf("world %d query %d: %w", seed, n, err)
		}
	}
	return nil
}

// Trial is one query on both engines.
type Trial struct {
	Query   sqlgen.Query
	Want    Answer
	Outcome Outcome
	// Difference says how the answers differ; empty if they do not or the columnar route did not answer.
	Difference string
}

// try gives a query to both engines. PostgreSQL's refusal to parse it leaves Outcome empty.
func try(ctx context.Context, s Sides, q sqlgen.Query) (Trial, error) {
	trial := Trial{Query: q}
	if s.Through != nil {
		var err error
		if q, err = s.Through(ctx, q); err != nil {
			return trial, err
		}
	}
	st, err := NewStatement(q)
	if err != nil {
		return trial, err
	}
	refused, err := s.Postgres.Describe(ctx, &st)
	if err != nil {
		return trial, err
	}
	if refused != nil {
		trial.Want = *refused
		return trial, nil
	}
	if trial.Want, err = s.Postgres.Answer(ctx, st); err != nil {
		return trial, err
	}
	if isLate(trial.Want) {
		return trial, nil
	}
	if trial.Outcome, err = s.Columnar.Answer(ctx, st); err != nil {
		return trial, err
	}
	if trial.Outcome.Answer != nil {
		trial.Difference = Compare(trial.Want, *trial.Outcome.Answer, q)
	}
	return trial, nil
}

const queryCanceled = "57014"

func isLate(a Answer) bool { return a.Err != nil && a.Err.Code == queryCanceled }

func (r *runner) query(ctx context.Context, s Sides, n uint64) error {
	trial, err := try(ctx, s, s.World.Generate(n))
	if err != nil {
		return err
	}
	if trial.Difference != "" && (trial.Want.Err != nil || trial.Outcome.Answer.Err != nil) {
		dependent, err := planDependent(ctx, s, trial)
		if err != nil {
			return err
		}
		if dependent {
			trial.Difference = ""
			r.add(trial, true)
			return nil
		}
	}
	r.add(trial, false)
	if trial.Difference != "" || trial.Outcome.Defect != nil {
		return r.record(ctx, s, n, trial)
	}
	return nil
}

// planDependent says whether PostgreSQL gives the columnar answer under some other plan: then it may or may
// not meet the row on which it fails, and both outcomes are its own.
func planDependent(ctx context.Context, s Sides, trial Trial) (bool, error) {
	st, err := NewStatement(trial.Query)
	if err != nil {
		return false, err
	}
	for _, settings := range planSettings {
		a, err := s.Postgres.AnswerWithPlan(ctx, st, settings)
		if err != nil {
			return false, err
		}
		if a.Err == nil && Compare(a, *trial.Outcome.Answer, trial.Query) == "" {
			return true, nil
		}
	}
	return false, nil
}

// add counts a trial.
func (r *runner) add(trial Trial, planDependent bool) {
	rep := r.report
	rep.mu.Lock()
	defer rep.mu.Unlock()
	rep.Queries++
	equal := trial.Outcome.Columnar && trial.Difference == "" && trial.Want.Err == nil
	rep.count(trial.Query.Features, equal)
	empty := trial.Want.Err == nil && len(trial.Want.Rows) == 0
	switch {
	case isLate(trial.Want):
		rep.Late++
	case planDependent:
		rep.PlanDependent++
		rep.Failed++
	case trial.Want.Err != nil:
		rep.Failed++
	}
	if empty {
		rep.Empty++
	}
	if equal {
		rep.Columnar++
		if empty {
			rep.ColumnarEmpty++
		}
	}
	if trial.Outcome.Reason != "" {
		rep.Relayed[trial.Outcome.Reason]++
	}
}
