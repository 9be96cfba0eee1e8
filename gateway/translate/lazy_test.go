package translate_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/engine"
)

func TestTranslate_sparesDivisorsOfRowsThatTakeAnotherArm(t *testing.T) {
	const int4 = 23
	const spared = "multiIf(_r0.`quantity` != toInt32(0), CAST(_r0.`quantity`, 'Int32'), CAST(1, 'Int32'))"
	tests := []struct {
		name, sql string
		oids      []uint32
		want      string // in the engine's SQL
		absent    string
	}{
		{"once, left to the engine", "SELECT CASE WHEN quantity <> 0 THEN item / quantity END FROM line", []uint32{int4}, "CAST(_r0.`quantity`, 'Int32')), 'Int32')", ", CAST(1, "},
		{"twice", "SELECT CASE WHEN quantity <> 0 THEN item / quantity END, CASE WHEN quantity <> 0 THEN item / quantity + 1 END FROM line", []uint32{int4, int4}, spared, ""},
		{"outside, too", "SELECT CASE WHEN quantity <> 0 THEN item / quantity END, item / quantity FROM line", []uint32{int4, int4}, spared, ""},
		{"ELSE", "SELECT CASE WHEN quantity = 0 THEN 0 ELSE item / quantity END, CASE WHEN quantity = 0 THEN 1 ELSE item / quantity END FROM line", []uint32{int4, int4},
			"multiIf(_r0.`quantity` = toInt32(0), CAST(1, 'Int32'), CAST(_r0.`quantity`, 'Int32'))", ""},
		{"a key stays one", "SELECT CASE WHEN quantity <> 0 THEN item / quantity END FROM line GROUP BY item / quantity, quantity", []uint32{int4}, "multiIf(_r1.k2 != toInt32(0), CAST(_r1.k1, 'Int32')", ""},
		{"FILTER", "SELECT max(item / quantity) FILTER (WHERE quantity <> 0) FROM line", []uint32{int4}, "if(ifNull(_r0.`quantity` != toInt32(0), false), CAST(_r0.`quantity`, 'Int32'), CAST(1, 'Int32'))", ""},
		{"COALESCE", "SELECT COALESCE(number::int, item / quantity) FROM line", []uint32{int4}, "multiIf(isNotNull(CAST(CAST(_r0.`number`, 'Int32'), 'Int32')), CAST(1, 'Int32'), CAST(_r0.`quantity`, 'Int32'))", ""},
		{"an overflow", "SELECT CASE WHEN item < 9 THEN item * 700 END, CASE WHEN item < 9 THEN 1 + item * 700 END FROM line", []uint32{int4, int4},
			"accurateCast(multiIf(_r0.`item` < toInt32(9), toInt64(_r0.`item`) * toInt32(700), 0), 'Int32')", ""},
		{"a window's rows are all rows", "SELECT CASE WHEN item > 0 THEN max(item / quantity) OVER () END, CASE WHEN item > 1 THEN max(item / quantity) OVER () END FROM line", []uint32{int4, int4},
			"intDiv(CAST(_r0.`item`, 'Int32'), CAST(_r0.`quantity`, 'Int32'))", ", CAST(1, "},
		{"a subquery's rows are others", "SELECT CASE WHEN item > 0 THEN (SELECT max(quantity / item) FROM line) END, CASE WHEN item > 1 THEN (SELECT max(quantity / item) FROM line) END FROM line", []uint32{int4, int4}, "intDiv(", ", CAST(1, "},
		{"very many arms are left to the engine", "SELECT CASE" + strings.Repeat(" WHEN quantity = 5 THEN 7", 200) + " ELSE item / quantity END, item / quantity FROM line", []uint32{int4, int4}, "intDiv(", ", CAST(1, "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			plan, err := translateText(t, tt.sql, tt.oids...)
			if err != nil {
				t.Fatal(err)
			}
			got := plan.SQL(func(i int) string { return plan.Relations[i].Table.Name })
			if !strings.Contains(got, tt.want) {
				t.Errorf("%s\nlacks %s", got, tt.want)
			}
			if tt.absent != "" && strings.Contains(got, tt.absent) {
				t.Errorf("%s\nhas %s", got, tt.absent)
			}
			if strings.Contains(got, "_lazy") || strings.Contains(got, "_settled") {
				t.Errorf("%s\nhas a mark", got)
			}
		})
	}
}

// None of these is refused by PostgreSQL, so that none may raise a guard, wherever else its parts stand.
func TestGuards_fireForNoRowThatIsExcluded(t *testing.T) {
	conn, client := loadPairs(t, []string{
		"(0, NULL, NULL, NULL)", "(1, 1, 0, 0)", "(2, 0, 7, 3)", "(3, 90000000000000.5, 0.0001, 40000)", "(4, -7, 0, NULL)", "(5, 12.5, -3, 0)", "(6, 3, NULL, -9)", "(7, 8, 2.5, 2)",
	})
	values := []struct{ when, value string }{
		{"i <> 0", "7 / i"},
		{"i <> 0", "id % i"},
		{"b <> 0", "a / b"},
		{"b <> 0", "round(a / b, 2)"},
		{"b <> 0", "a % b"},
		{"b <> 0 AND a > 0", "(1 / b) * a"},
		{"i < 5", "(i * 3000)::int2"},
		{"i < 5", "i * i * 1000000"},
		{"a < 1000", "a::numeric(7,3)"},
		{"a < 1000", "a::int2"},
		{"i <> 0", "10::float8 / i"},
	}
	for _, v := range values {
		when := "(" + v.when + ")"
		arms := []string{
			"CASE WHEN " + when + " THEN " + v.value + " END",
			"CASE WHEN " + when + " IS NOT TRUE THEN 0 ELSE " + v.value + " END",
			"CASE " + when + " WHEN true THEN " + v.value + " WHEN false THEN -1 END",
			"0 + CASE WHEN NULL THEN 4 WHEN NOT " + when + " THEN -1 WHEN " + when + " THEN CASE WHEN id > 2 THEN " + v.value + " ELSE 1 + " + v.value + " END END",
			"COALESCE(CASE WHEN " + when + " THEN NULL ELSE 2 END, " + v.value + ")",
			"CASE WHEN id < 0 THEN 0 WHEN id > 3 AND " + when + " THEN 2 * " + v.value + " WHEN " + when + " THEN " + v.value + " END",
		}
		for i, x := range arms {
			y := arms[(i+1)%len(arms)]
			requireUnguarded(t, conn, client, "SELECT id, "+x+" AS x, "+y+" FROM pairs ORDER BY x, id")
			requireUnguarded(t, conn, client, "SELECT id, 1 + "+x+", NULLIF("+y+", 1) FROM pairs WHERE ("+y+") IS NULL OR "+x+" < 99 ORDER BY id")
		}
		if strings.Contains(v.value, "float8") {
			continue // whose sums depend on the order of the rows
		}
		for _, sql := range []string{
			"SELECT sum(" + v.value + ") FILTER (WHERE " + when + "), max(" + arms[0] + "), count(" + v.value + ") FILTER (WHERE " + when + ") FROM pairs",
			"SELECT id / 3, sum(" + arms[0] + "), min(" + arms[0] + ") FROM pairs GROUP BY 1 HAVING sum(" + arms[0] + ") IS NULL OR min(" + arms[0] + ") < 5 ORDER BY 1",
			"SELECT id, " + arms[0] + ", sum(" + arms[0] + ") OVER (ORDER BY id), count(" + v.value + ") FILTER (WHERE " + when + ") OVER (ORDER BY id) FROM pairs ORDER BY id",
		} {
			requireUnguarded(t, conn, client, sql)
		}
	}
	for _, sql := range []string{
		"SELECT id / 3 AS g, CASE WHEN sum(b) <> 0 THEN sum(a) / sum(b) END AS x FROM pairs GROUP BY 1 HAVING CASE WHEN sum(b) <> 0 THEN sum(a) / sum(b) END IS NULL OR true ORDER BY x, g",
		"SELECT id / 3 AS g, CASE WHEN count(i) FILTER (WHERE i > 9) > 0 THEN 1.0 * sum(i) / count(i) FILTER (WHERE i > 9) END AS x FROM pairs GROUP BY 1 ORDER BY x, g",
		"SELECT id, CASE WHEN i <> 0 THEN max(7 / NULLIF(i, 0)) OVER (ORDER BY id) END, CASE WHEN i = 0 THEN max(7 / NULLIF(i, 0)) OVER (ORDER BY id) END FROM pairs ORDER BY id",
		"SELECT id, CASE WHEN id > 3 THEN (SELECT max(7 / i) FROM pairs WHERE i <> 0) END, CASE WHEN id > 4 THEN (SELECT 1 + max(7 / i) FROM pairs WHERE i <> 0) END FROM pairs ORDER BY id",
		"SELECT string_agg((7 / i)::text, ',' ORDER BY id) FILTER (WHERE i <> 0), percentile_disc(0.5) WITHIN GROUP (ORDER BY 7 / i) FILTER (WHERE i <> 0) FROM pairs",
		"SELECT max((i::float8 * 1e9)::int) FILTER (WHERE i = 2) FROM pairs",
		"SELECT id, COALESCE(CASE WHEN i = 0 THEN 5 END, 7 / i) FROM pairs ORDER BY id",
		"SELECT sum(CASE WHEN id::text ~ '^[0-4]$' THEN id::text::int END), max(CASE WHEN left(id::text, 1) = '3' THEN (id::text)::numeric END) FROM pairs",
	} {
		requireUnguarded(t, conn, client, sql)
	}
}

func requireUnguarded(t *testing.T, conn *pgconn.PgConn, client *engine.Client, sql string) {
	t.Helper()
	if guarded, err := compareAnswers(t.Context(), conn, client, pairs{}, sql); err != nil || guarded != nil {
		t.Errorf("%s: %v, %.200v", sql, err, guarded)
	}
}
