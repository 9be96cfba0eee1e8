package translate

import (
	"testing"

	"github.com/freshet-io/freshet/gateway/syntax"
)

func TestVariant_tellsApartWhatPostgreSQLMayPlanInAnotherWay(t *testing.T) {
	t.Parallel()
	text := func(v string) []Param { return []Param{{Value: []byte(v)}} }
	for _, c := range []struct {
		a, b             string
		aParams, bParams []Param
		same             bool
	}{
		{a: "SELECT * FROM t WHERE k = 1", b: "SELECT * FROM t WHERE k = 2", same: true},
		{a: "SELECT * FROM t WHERE 'a'::text = k", b: "SELECT * FROM t WHERE 'b'::text = k", same: true},
		{a: "SELECT * FROM t WHERE k IN (1, 2)", b: "SELECT * FROM t WHERE k IN (3, 4)", same: true},
		{a: "SELECT * FROM t WHERE k = $1", b: "SELECT * FROM t WHERE k = $1", aParams: text("1"), bParams: text("2"), same: true},
		{a: "SELECT * FROM t WHERE k > $1", b: "SELECT * FROM t WHERE k > $1", aParams: text("1"), bParams: text("2")},
		{a: "SELECT * FROM t WHERE k = ANY ($1)", b: "SELECT * FROM t WHERE k = ANY ($1)", aParams: text("{1}"), bParams: text("{1,2}")},
		{a: "SELECT * FROM t WHERE k BETWEEN 1 AND 2", b: "SELECT * FROM t WHERE k BETWEEN 1 AND 3"},
		{a: "SELECT * FROM t WHERE k = 1 LIMIT 10", b: "SELECT * FROM t WHERE k = 2 LIMIT 10", same: true},
		{a: "SELECT * FROM t WHERE k = 1 LIMIT 10", b: "SELECT * FROM t WHERE k = 1 LIMIT 1000000"},
		{a: "SELECT sum(n) FROM t WHERE k = 1", b: "SELECT sum(n) FROM t WHERE k = 2"},
		{a: "SELECT DISTINCT n FROM t WHERE k = 1", b: "SELECT DISTINCT n FROM t WHERE k = 2"},
	} {
		variant := func(sql string, params []Param) string {
			tree, err := syntax.Parse(sql)
			if err != nil {
				t.Fatal(err)
			}
			return Variant(tree, params)
		}
		if same := variant(c.a, c.aParams) == variant(c.b, c.bParams); same != c.same {
			t.Errorf("%s with %v and %s with %v: the same variant: %t, want %t", c.a, c.aParams, c.b, c.bParams, same, c.same)
		}
	}
}
