package translate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestNames_areWhatPostgreSQLLooksUp(t *testing.T) {
	for sql, want := range map[string]Names{
		"SELECT lower(a), pg_catalog.upper(a), a OPERATOR(pg_catalog.+) 1 FROM t WHERE abs(b) > 2": {Functions: []string{"abs", "lower"}, Called: []string{"abs", "lower", "upper"}, Operators: []string{">"}},
		"SELECT CASE a WHEN 1 THEN 2 END FROM t":                                                   {Operators: []string{"="}},
		"SELECT CASE WHEN a THEN b END, extract(year FROM c), coalesce(a, b) FROM t":               {Called: []string{"extract"}},
		"SELECT 1 FROM t JOIN u USING (a)":                                                         {Operators: []string{"="}},
		"SELECT 1 FROM t NATURAL JOIN u":                                                           {Operators: []string{"="}},
		"SELECT 1 FROM t WHERE a IN (SELECT b FROM u)":                                             {Operators: []string{"="}},
		"SELECT 1 FROM t WHERE a < ALL (SELECT b FROM u) AND EXISTS (SELECT FROM u)":               {Operators: []string{"<"}},
		"SELECT 1 FROM t WHERE a NOT IN (1, 2) OR NULLIF(a, 3) IS DISTINCT FROM b":                 {Operators: []string{"<>", "="}},
		"SELECT 1 FROM t WHERE a BETWEEN 1 AND 2 AND b NOT BETWEEN SYMMETRIC 3 AND 4":              {Operators: []string{"<", "<=", ">", ">="}},
		"SELECT 1 FROM t WHERE a LIKE 'x%' AND b = ANY ('{1}')":                                    {Operators: []string{"=", "~~"}},
		"SELECT date '2020-01-01', '5'::int FROM t":                                                {},
		"WITH w AS (SELECT sum(a) OVER (ORDER BY -b) FROM t) SELECT c::text FROM w":                {Functions: []string{"sum"}, Called: []string{"sum"}, Operators: []string{"-"}, Casts: true},
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
