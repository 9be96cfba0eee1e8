package differential

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
)

func rows(values ...string) Answer {
	a := Answer{Columns: []Column{{"a", 25}}}
	for _, v := range values {
		cell := []byte(v)
		if v == "NULL" {
			cell = nil
		}
		a.Rows = append(a.Rows, [][]byte{cell})
	}
	return a
}

func refusedWith(code string) Answer { return Answer{Err: &pgconn.PgError{Code: code}} }

func TestCompare_findsEveryDifference(t *testing.T) {
	renamed, retyped := rows("1"), rows("1")
	renamed.Columns = []Column{{"b", 25}}
	retyped.Columns = []Column{{"a", 23}}
	sorted := sqlgen.Query{OrderBy: []int{0}}
	for _, c := range []struct {
		name      string
		want, got Answer
		query     sqlgen.Query
		differ    bool
	}{
		{"same", rows("1", "2"), rows("1", "2"), sorted, false},
		{"other order, where none is asked", rows("1", "2"), rows("2", "1"), sqlgen.Query{}, false},
		{"other order of the sort column", rows("1", "2"), rows("2", "1"), sorted, true},
		{"other order where it is total", rows("1", "2"), rows("2", "1"), sqlgen.Query{Total: true}, true},
		{"another value", rows("1.0"), rows("1.00"), sqlgen.Query{}, true},
		{"null and the empty string", rows("NULL"), rows(""), sqlgen.Query{}, true},
		{"how often a row occurs", rows("1", "1", "2"), rows("1", "2", "2"), sqlgen.Query{}, true},
		{"number of rows", rows("1"), rows("1", "1"), sqlgen.Query{}, true},
		{"column name", rows("1"), renamed, sqlgen.Query{}, true},
		{"column type", rows("1"), retyped, sqlgen.Query{}, true},
		{"answer instead of an error", refusedWith("22012"), rows("1"), sqlgen.Query{}, true},
		{"error instead of an answer", rows("1"), refusedWith("22012"), sqlgen.Query{}, true},
		{"another error", refusedWith("22012"), refusedWith("22003"), sqlgen.Query{}, true},
		{"same error", refusedWith("22012"), refusedWith("22012"), sqlgen.Query{}, false},
	} {
		if d := Compare(c.want, c.got, c.query); (d != "") != c.differ {
			t.Errorf("%s: Compare says %q", c.name, d)
		}
	}
}
