package sqlgen

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
)

// Param is the value of a prepared statement's parameter.
type Param struct {
	// OID declares the parameter's type; 0 leaves it to PostgreSQL to infer.
	OID uint32
	// Type is the type of the value, also where OID is 0.
	Type uint32
	// Text is the value's text form; nil for NULL.
	Text *string
	// Binary asks for the binary format.
	Binary bool
}

// Query is a generated query.
type Query struct {
	SQL    string
	Params []Param
	// BinaryResult asks for binary result columns.
	BinaryResult bool
	// OrderBy lists the leading output columns by which rows must come in the same sequence; empty
	// for none.
	OrderBy []int
	// Total says that the whole sequence of rows is determined.
	Total bool
	// Features names the productions used.
	Features []string
}

// gen generates one query.
type gen struct {
	r       *rand.Rand
	w       *World
	feats   map[string]bool
	params  []Param
	prepare bool
	aliases int
	subs    int         // subqueries still allowed
	ctes    []*relation // common table expressions in sight
	guarded []guardedValue
}

// Generate makes the n-th query of a world.
func (w *World) Generate(n uint64) Query {
	g := &gen{r: rand.New(rand.NewPCG(w.Seed, n*0x9e3779b97f4a7c15+1)), w: w, feats: map[string]bool{}, subs: 3}
	g.prepare = g.chance(0.2)
	q := g.top()
	q.Params = g.params
	for i, p := range q.Params { // the type of one that fell out of the query cannot be inferred
		if p.OID == 0 && !strings.Contains(q.SQL, fmt.Sprintf("$%d", i+1)) {
			q.Params[i].OID = p.Type
		}
	}
	if len(q.Params) > 0 {
		g.use("parameters")
		q.BinaryResult = g.chance(0.3)
	}
	for f := range g.feats {
		q.Features = append(q.Features, f)
	}
	sort.Strings(q.Features)
	return q
}

func (g *gen) use(feature string)         { g.feats[feature] = true }
func (g *gen) chance(p float64) bool      { return g.r.Float64() < p }
func (g *gen) one(items ...string) string { return items[g.r.IntN(len(items))] }

func (g *gen) alias(prefix string) string {
	g.aliases++
	return fmt.Sprintf("%s%d", prefix, g.aliases)
}

// weighted picks an index by weight.
func (g *gen) weighted(weights ...int) int {
	total := 0
	for _, w := range weights {
		total += w
	}
	n := g.r.IntN(total)
	for i, w := range weights {
		if n -= w; n < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// column is an output column of a relation or query.
type column struct {
	name     string
	t        typ
	distinct float64 // estimated number of values, for bounding joins
	domain   string
	pool     []string
}

// relation is an item of a FROM clause.
type relation struct {
	alias string
	cols  []column
	key   []int // columns that identify a row; nil when unknown
	rows  float64
	table bool
	with  string // name of the common table expression that it reads; empty: none
}

// scope is what a query level sees.
type scope struct {
	rels  []*relation
	outer *scope
}

// find returns the columns of a family.
func (s *scope) find(fam family) []expr { return s.columns(fam, s.ref) }

// qualified returns the columns of a family as an inner query names them.
func (s *scope) qualified(fam family) []expr {
	return s.columns(fam, func(rel *relation, i int) expr {
		c := &rel.cols[i]
		return expr{sql: rel.alias + "." + QuoteIdent(c.name), t: c.t, col: c}
	})
}

func (s *scope) columns(fam family, ref func(*relation, int) expr) []expr {
	var out []expr
	for _, rel := range s.rels {
		for i := range rel.cols {
			if rel.cols[i].t.kind.family() == fam {
				out = append(out, ref(rel, i))
			}
		}
	}
	return out
}

// ref names a column, qualified unless it is alone in sight.
func (s *scope) ref(rel *relation, i int) expr {
	c := &rel.cols[i]
	name := QuoteIdent(c.name)
	if len(s.rels) > 1 || s.outer != nil || len(c.name)%2 == 0 {
		name = rel.alias + "." + name
	}
	return expr{sql: name, t: c.t, col: c}
}

// keys returns the columns that identify a row of the scope's join, or nil.
func (s *scope) keys() []expr {
	var out []expr
	for _, rel := range s.rels {
		if rel.key == nil {
			return nil
		}
		for _, k := range rel.key {
			out = append(out, s.ref(rel, k))
		}
	}
	return out
}

// expr is a generated expression.
type expr struct {
	sql string
	t   typ
	col *column // set for a plain column reference
}

// ctx is where an expression stands.
type ctx struct {
	sc *scope
	// grouped says that only the grouping keys and aggregates may be used.
	grouped bool
	keys    []expr
	// plain forbids subqueries.
	plain bool
}
