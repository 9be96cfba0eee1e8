package differential

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ClickHouse/ch-go"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
)

// record makes a difference or defect small and files it under its cause.
func (r *runner) record(ctx context.Context, s Sides, n uint64, trial Trial) error {
	reduced := r.reduce(ctx, s, trial)
	small, err := try(ctx, s, reduced)
	if err != nil {
		return err
	}
	title := cause(small)
	r.report.mu.Lock()
	defer r.report.mu.Unlock()
	findings := r.report.Differences
	if trial.Difference == "" {
		findings = r.report.Defects
	}
	f := findings[title]
	if f == nil {
		f = &Finding{Title: title, World: s.World.Seed, Query: n}
		findings[title] = f
	}
	f.Count++
	if f.File != "" || r.cfg.Dir == "" {
		return nil
	}
	f.File = r.fileName(title, trial)
	return r.write(f.File, s.World, n, trial, small)
}

// maxReduced bounds the findings of a run that are made small: where there are more, many have one cause.
const maxReduced = 150

// reduce returns the smallest query found that still shows the same sort of finding, under every plan
// of PostgreSQL.
func (r *runner) reduce(ctx context.Context, s Sides, trial Trial) sqlgen.Query {
	if r.reduced.Add(1) > maxReduced {
		return trial.Query
	}
	base := trial.Query
	base.Params = append([]sqlgen.Param(nil), base.Params...)
	for i, p := range base.Params {
		base.Params[i].OID = p.Type
	}
	inOrder := strings.HasPrefix(trial.Difference, "order")
	sql, err := Reduce(base.SQL, r.cfg.ReduceLimit, func(sql string) bool {
		if ctx.Err() != nil {
			return false
		}
		q := base
		q.SQL = sql
		if !inOrder {
			q.OrderBy, q.Total = nil, false
		}
		small, err := try(ctx, s, q)
		if err != nil || inOrder && len(small.Want.Columns) != len(trial.Want.Columns) {
			return false
		}
		return sameFinding(trial, small) && oneAnswer(ctx, s, small)
	})
	if err != nil || sql == base.SQL {
		return trial.Query
	}
	if !inOrder {
		base.OrderBy, base.Total = nil, false
	}
	base.SQL = sql
	return base
}

func sameFinding(a, b Trial) bool {
	if a.Difference == "" {
		return a.Outcome.Defect != nil && b.Outcome.Defect != nil && defectKind(a.Outcome.Defect) == defectKind(b.Outcome.Defect)
	}
	return b.Difference != "" && (a.Want.Err == nil) == (b.Want.Err == nil)
}

func oneAnswer(ctx context.Context, s Sides, trial Trial) bool {
	st, err := NewStatement(trial.Query)
	if err != nil {
		return false
	}
	for _, settings := range planSettings {
		a, err := s.Postgres.AnswerWithPlan(ctx, st, settings)
		if err != nil || Compare(trial.Want, a, trial.Query) != "" {
			return false
		}
	}
	return true
}

func defectKind(err error) string {
	if e, ok := errors.AsType[*ch.Exception](err); ok {
		return fmt.Sprintf("engine error %d %s", e.Code, e.Name)
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

var (
	titleNames    = regexp.MustCompile(`\b(?:([a-z][a-z0-9]*?)_[0-9]+|[rwscvg][0-9]+(?:_[0-9]+)?)\b`)
	titleStrings  = regexp.MustCompile(`'(?:[^']|'')*'`)
	titleNumbers  = regexp.MustCompile(`\b[0-9]+(?:\.[0-9]+)?\b`)
	titleTables   = regexp.MustCompile(`\bt[0-9]\b`)
	titleQuoted   = regexp.MustCompile(`"[^"]*"`)
	titlePrefixes = regexp.MustCompile(`\br\.|\bs\.|\bw\.`)
)

// cause is a line that is the same for findings that probably have one cause.
func cause(trial Trial) string {
	sql := titleStrings.ReplaceAllString(trial.Query.SQL, "'…'")
	sql = titleTables.ReplaceAllString(sql, "t")
	sql = titleNames.ReplaceAllStringFunc(sql, func(name string) string {
		if m := titleNames.FindStringSubmatch(name); m[1] != "" {
			return m[1]
		}
		return name[:1]
	})
	sql = titleNumbers.ReplaceAllString(sql, "N")
	sql = titleQuoted.ReplaceAllString(sql, "q")
	sql = titlePrefixes.ReplaceAllString(sql, "")
	if trial.Outcome.Defect != nil {
		return defectKind(trial.Outcome.Defect) + ": " + sql
	}
	kind, _, _ := strings.Cut(titleNumbers.ReplaceAllString(trial.Difference, "N"), " (")
	return fmt.Sprintf("%.60s: %s", kind, sql)
}

func (r *runner) fileName(title string, trial Trial) string {
	h := fnv.New32a()
	h.Write([]byte(title))
	kind := "difference"
	if trial.Difference == "" {
		kind = "defect"
	}
	return filepath.Join(r.cfg.Dir, fmt.Sprintf("%s-%08x.txt", kind, h.Sum32()))
}

const shownRows = 20

// write files a reproducer and the world that it runs in.
func (r *runner) write(file string, w *sqlgen.World, n uint64, trial, small Trial) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nworld %d (world-%d.sql, TimeZone %s), query %d\n", cause(small), w.Seed, w.Seed, w.TimeZone, n)
	for _, part := range []struct {
		name  string
		trial Trial
	}{{"reduced", small}, {"as generated", trial}} {
		t := part.trial
		fmt.Fprintf(&b, "\n== %s ==\n%s\n", part.name, t.Query.SQL)
		for i, p := range t.Query.Params {
			text := "NULL"
			if p.Text != nil {
				text = sqlgen.QuoteLiteral(*p.Text)
			}
			fmt.Fprintf(&b, "$%d = %s (declared type %d, binary %v)\n", i+1, text, p.OID, p.Binary)
		}
		fmt.Fprintf(&b, "\ndifference: %s\ndefect: %v\nengine SQL: %s\n", t.Difference, t.Outcome.Defect, t.Outcome.EngineSQL)
		printAnswer(&b, "PostgreSQL", t.Want)
		if t.Outcome.Answer != nil {
			printAnswer(&b, "columnar", *t.Outcome.Answer)
		}
	}
	if err := os.MkdirAll(r.cfg.Dir, 0o755); err != nil {
		return fmt.Errorf("write reproducer: %w", err)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("write reproducer: %w", err)
	}
	world := filepath.Join(r.cfg.Dir, fmt.Sprintf("world-%d.sql", w.Seed))
	if err := os.WriteFile(world, Script(w), 0o644); err != nil {
		return fmt.Errorf("write world of reproducer: %w", err)
	}
	return nil
}

func printAnswer(b *strings.Builder, who string, a Answer) {
	if a.Err != nil {
		fmt.Fprintf(b, "%s: %s %s\n", who, a.Err.Code, a.Err.Message)
		return
	}
	fmt.Fprintf(b, "%s: %d rows of %v\n", who, len(a.Rows), a.Columns)
	for i, row := range a.Rows {
		if i == shownRows {
			b.WriteString("  …\n")
			break
		}
		fmt.Fprintf(b, "  %s\n", Format(row))
	}
}

// Script is a world as a script for psql.
func Script(w *sqlgen.World) []byte {
	var b strings.Builder
	for _, sql := range w.Setup() {
		b.WriteString(sql + ";\n")
	}
	for _, t := range w.Tables {
		fmt.Fprintf(&b, "%s;\nCOPY %s FROM STDIN;\n%s\\.\n", t.DDL(), sqlgen.QuoteIdent(t.Name), copyText(t.Rows))
	}
	return []byte(b.String())
}
