package sqlnames_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/freshet-io/freshet/e2e/sqlnames"
)

func TestUnqualified_findsWhatTheSearchPathDecides(t *testing.T) {
	for sql, want := range map[string][]string{
		"SELECT pg_catalog.lower(c.a::pg_catalog.text), current_user, CASE WHEN c.a OPERATOR(pg_catalog.=) ANY (ARRAY[1]) THEN 1 END FROM pg_catalog.t c": nil,
		"WITH t AS (SELECT 1) SELECT 1 FROM t":                       nil,
		"SELECT lower(a) FROM s.t":                                   {"function lower"},
		"SELECT a + 1 FROM s.t":                                      {"operator +"},
		"SELECT a::text, DATE '2020-01-01' FROM s.t":                 {"type text", "type date"},
		"SELECT 1 FROM t ORDER BY a COLLATE x":                       {"relation t", "collation x"},
		"SELECT CASE a WHEN 1 THEN 2 END FROM s.t":                   {"CASE with an operand"},
		"SELECT 1 FROM s.t WHERE a IN (1)":                           {"IN"},
		"SELECT 1 FROM s.t WHERE a IN (SELECT 1)":                    {"subquery's operator"},
		"SELECT NULLIF(a, 1) FROM s.t WHERE a IS DISTINCT FROM 1":    {"NULLIF", "DISTINCT"},
		"SELECT 1 FROM s.t WHERE a BETWEEN 1 AND 2 OR a LIKE 'x'":    {"BETWEEN", "LIKE"},
		"SELECT 1 FROM s.t JOIN s.u USING (a) ORDER BY b USING <":    {"JOIN by names", "ORDER BY USING <"},
		"SELECT 1 FROM s.t WHERE a = ALL (ARRAY[1]) OR a < ANY ('')": {"operator =", "operator <"},
	} {
		got, err := sqlnames.Unqualified(sql)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sql, diff)
		}
	}
}
