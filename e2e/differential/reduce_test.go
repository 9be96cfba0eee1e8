package differential

import (
	"strings"
	"testing"
)

func TestReduce_keepsWhatItIsToShow(t *testing.T) {
	sql := `WITH w AS (SELECT 1 AS x) SELECT a + 1, lower(b), count(*) FROM t JOIN u ON t.i = u.i AND u.k > 3
WHERE a BETWEEN 1 AND 2 AND (c = 'x' OR NOT d) GROUP BY 1, 2 HAVING count(*) > 1 ORDER BY 1, 2 UNION ALL SELECT 1, 'y', 2`
	sql = strings.Replace(sql, " ORDER BY 1, 2 UNION", " UNION", 1)
	got, err := Reduce(sql, 1000, func(sql string) bool {
		return strings.Contains(sql, "lower(b)") && strings.Contains(sql, "FROM t")
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "SELECT lower(b) FROM t"; got != want {
		t.Errorf("reduced to %q, want %q", got, want)
	}
}

func TestReduce_keepsTheOrderThatLimitNeeds(t *testing.T) {
	got, err := Reduce("SELECT a FROM t WHERE b ORDER BY a, c LIMIT 3", 1000, func(sql string) bool { return strings.Contains(sql, "LIMIT") })
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "ORDER BY a, c LIMIT") {
		t.Errorf("reduced to %q", got)
	}
}

// A row of VALUES is a list. The deparser reads whatever stands in its place as one.
func TestReduce_leavesRowsOfValuesLists(t *testing.T) {
	tried := 0
	got, err := Reduce("SELECT a FROM (VALUES ($1, 2)) v(a, b) WHERE a > 0", 1000, func(sql string) bool {
		tried++
		return strings.Contains(sql, "VALUES ($1)")
	})
	if want := "SELECT FROM (VALUES ($1))"; err != nil || !strings.HasPrefix(got, want) || tried == 0 {
		t.Errorf("reduced to %q (%v) in %d steps, want %q", got, err, tried, want)
	}
}
