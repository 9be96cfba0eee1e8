package differential

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Report counts what a run found. It is safe for concurrent use.
type Report struct {
	mu sync.Mutex
	// Queries is the number of queries that were given to both engines.
	Queries int
	// Failed counts those that PostgreSQL refused, Late those that it did not finish in time.
	Failed, Late int
	// Empty counts answers without a row.
	Empty int
	// Columnar counts answers of the columnar route that equal PostgreSQL's.
	Columnar int
	// ColumnarEmpty counts those of them without a row.
	ColumnarEmpty int
	// PlanDependent counts answers where PostgreSQL fails or answers alike depending on its plan.
	PlanDependent int
	// Relayed counts the reasons for which the columnar route left the answer to PostgreSQL.
	Relayed map[string]int
	// Defects and Differences are deduplicated by what seems to be their cause.
	Defects, Differences map[string]*Finding
	features             map[string]*share
}

type share struct{ all, columnar int }

// Finding is a defect or difference.
type Finding struct {
	Title string
	Count int
	// World and Query are where it was found first.
	World, Query uint64
	// File is the reproducer's.
	File string
}

// NewReport returns an empty report.
func NewReport() *Report {
	return &Report{Relayed: map[string]int{}, Defects: map[string]*Finding{}, Differences: map[string]*Finding{}, features: map[string]*share{}}
}

func (r *Report) count(features []string, columnar bool) {
	for _, f := range features {
		s := r.features[f]
		if s == nil {
			s = &share{}
			r.features[f] = s
		}
		s.all++
		if columnar {
			s.columnar++
		}
	}
}

// Share is the part of the queries answered by PostgreSQL that the columnar route answered too, in percent.
func (r *Report) Share() float64 {
	return percentage(r.Columnar, r.Queries-r.Failed-r.Late)
}

func percentage(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

func total(findings map[string]*Finding) int {
	n := 0
	for _, f := range findings {
		n += f.Count
	}
	return n
}

// String prints the report for people.
func (r *Report) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	r.writeFindings(&b)
	fmt.Fprintf(&b, "reasons for going to PostgreSQL:\n")
	for _, reason := range sortedBy(r.Relayed, func(n int) int { return n }) {
		fmt.Fprintf(&b, "  %6d  %s\n", r.Relayed[reason], reason)
	}
	fmt.Fprintf(&b, "mix (queries, of them columnar):\n")
	for _, f := range sortedBy(r.features, func(s *share) int { return s.all }) {
		s := r.features[f]
		fmt.Fprintf(&b, "  %6d %5.1f %%  %s\n", s.all, percentage(s.columnar, s.all), f)
	}
	return b.String()
}

// Findings prints the totals, the differences and the defects only.
func (r *Report) Findings() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	r.writeFindings(&b)
	return b.String()
}

func (r *Report) writeFindings(b *strings.Builder) {
	relayed := 0
	for _, n := range r.Relayed {
		relayed += n
	}
	fmt.Fprintf(b, "%d queries: %d columnar and equal (%.1f %% of those that PostgreSQL answers; %d of them empty), %d to PostgreSQL, %d differences, %d defects\n",
		r.Queries, r.Columnar, r.Share(), r.ColumnarEmpty, relayed, total(r.Differences), total(r.Defects))
	fmt.Fprintf(b, "PostgreSQL refuses %d, is too slow on %d, fails depending on its plan on %d; %.1f %% of the answers have no row\n",
		r.Failed, r.Late, r.PlanDependent, percentage(r.Empty, r.Queries-r.Failed-r.Late))
	section(b, "differences", r.Differences)
	section(b, "defects of the columnar route", r.Defects)
}

func section(b *strings.Builder, title string, findings map[string]*Finding) {
	if len(findings) == 0 {
		return
	}
	fmt.Fprintf(b, "%s, by cause:\n", title)
	for _, key := range sortedBy(findings, func(f *Finding) int { return f.Count }) {
		f := findings[key]
		fmt.Fprintf(b, "  %6d  %s  (world %d, query %d; %s)\n", f.Count, f.Title, f.World, f.Query, f.File)
	}
}

func sortedBy[V any](m map[string]V, by func(V) int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int {
		return cmp.Or(cmp.Compare(by(m[b]), by(m[a])), cmp.Compare(a, b))
	})
}
