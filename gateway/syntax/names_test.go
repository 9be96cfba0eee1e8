package syntax

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestNames_areWhatPostgreSQLLooksUp(t *testing.T) {
	for sql, want := range map[string]Names{
		"SELECT lower(a), pg_catalog.upper(a), a OPERATOR(pg_catalog.+) 1 FROM t WHERE abs(b) > 2": {
			Functions: []string{"abs", "lower"}, Called: []string{"abs", "lower", "upper"}, Operators: []string{">"}, Applied: []string{"+", ">"},
		},
		"SELECT CASE a WHEN 1 THEN 2 END FROM t":                                      applied("="),
		"SELECT CASE WHEN a THEN b END, extract(year FROM c), coalesce(a, b) FROM t":  {Called: []string{"extract"}},
		"SELECT 1 FROM t JOIN u USING (a)":                                            applied("="),
		"SELECT 1 FROM t NATURAL JOIN u":                                              applied("="),
		"SELECT 1 FROM t WHERE a IN (SELECT b FROM u)":                                applied("="),
		"SELECT 1 FROM t WHERE a < ALL (SELECT b FROM u) AND EXISTS (SELECT FROM u)":  applied("<"),
		"SELECT 1 FROM t WHERE a OPERATOR(pg_catalog.=) ANY (SELECT b FROM u)":        {Applied: []string{"="}},
		"SELECT 1 FROM t WHERE a NOT IN (1, 2) OR NULLIF(a, 3) IS DISTINCT FROM b":    applied("<>", "="),
		"SELECT 1 FROM t WHERE a BETWEEN 1 AND 2 AND b NOT BETWEEN SYMMETRIC 3 AND 4": applied("<", "<=", ">", ">="),
		"SELECT 1 FROM t WHERE a LIKE 'x%' AND b = ANY ('{1}')":                       applied("=", "~~"),
		"SELECT date '2020-01-01', '5'::int FROM t":                                   {},
		"WITH w AS (SELECT sum(a) OVER (ORDER BY -b) FROM t) SELECT c::text FROM w": {
			Functions: []string{"sum"}, Called: []string{"sum"}, Operators: []string{"-"}, Applied: []string{"-"}, Casts: true,
		},
	} {
		tree, err := Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree.Names(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", sql, diff)
		}
	}
}

// applied are the names of a statement with operators without a schema.
func applied(operators ...string) Names { return Names{Operators: operators, Applied: operators} }

// What a view's query names without a schema is built in, but for the operators that it does not show.
func TestNames_ofAViewAreBound(t *testing.T) {
	for sql, want := range map[string]Names{
		"SELECT lower(a), b + 1, c::text FROM t":                            {Called: []string{"lower"}, Applied: []string{"+"}, Casts: true},
		"SELECT CASE a WHEN 1 THEN 2 END FROM t":                            {Applied: []string{"="}, Bound: []string{"="}},
		"SELECT CASE WHEN a = 1 THEN 2 END FROM t":                          {Applied: []string{"="}},
		"SELECT a IS DISTINCT FROM 1 FROM t":                                {Applied: []string{"="}, Bound: []string{"="}},
		"SELECT a IS NOT DISTINCT FROM 1 FROM t":                            {Applied: []string{"="}, Bound: []string{"="}},
		"SELECT NULLIF(a, 1) FROM t":                                        {Applied: []string{"="}, Bound: []string{"="}},
		"SELECT 1 FROM t JOIN u USING (a)":                                  {Applied: []string{"="}, Bound: []string{"="}},
		"SELECT 1 FROM t WHERE a IN (SELECT b FROM u)":                      {Applied: []string{"="}},
		"SELECT 1 FROM t WHERE (a, b) IN (SELECT c, d FROM u)":              {Applied: []string{"="}, Bound: []string{"="}},
		"SELECT 1 FROM t WHERE (a, b) <> ALL (SELECT c, d FROM u) OR a > 1": {Applied: []string{"<>", ">"}, Bound: []string{"<>"}},
	} {
		tree, err := Parse(sql)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, tree.PrintedNames(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", sql, diff)
		}
		statement := Names{Operators: []string{">"}, Applied: []string{">"}}
		got := statement.With(tree.PrintedNames())
		if diff := cmp.Diff(statement.Operators, got.Operators); diff != "" {
			t.Errorf("a statement that reads it looks up: %s", diff)
		}
		if diff := cmp.Diff(want.Bound, got.Bound, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("a statement that reads it is bound to: %s", diff)
		}
	}
}
