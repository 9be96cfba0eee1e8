package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Values are compared with averages by sums and counts. Here the averages are what the values are, or next to that.
func TestComparisonWithAverage_equalsPostgreSQL(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	conn, client := loadPairs(t, averagedRows(rng))
	const perGroup = "(SELECT i, avg(a) AS ma, avg(b) AS mb, avg(id) AS mi FROM pairs GROUP BY i) AS t"
	for _, op := range []string{"<", "<=", ">", ">=", "=", "<>"} {
		for _, sql := range []string{
			"SELECT p.id FROM pairs AS p, " + perGroup + " WHERE t.i = p.i AND p.b %s t.mb ORDER BY p.id",
			"SELECT p.id FROM pairs AS p, " + perGroup + " WHERE t.i = p.i AND t.ma %s p.a ORDER BY p.id",
			"SELECT p.id, t.mb FROM pairs AS p, " + perGroup + " WHERE t.i = p.i AND p.b %s t.mb ORDER BY p.id",
			"SELECT p.id, t.mb + 1 FROM pairs AS p, " + perGroup + " WHERE t.i = p.i AND p.a %s t.mb ORDER BY p.id",
			"SELECT p.id FROM pairs AS p, " + perGroup + " WHERE t.i = p.i AND p.id %s t.mi ORDER BY p.id",
			"SELECT p.id FROM pairs AS p, " + perGroup + " WHERE t.i = p.i AND t.ma %s t.mb ORDER BY p.id",
			"SELECT p.id, t.mb FROM pairs AS p LEFT JOIN " + perGroup + " ON t.i = p.i + 3 AND p.b > 0 WHERE p.b %s t.mb OR t.mb IS NULL ORDER BY p.id",
			"SELECT p.id FROM pairs AS p WHERE p.b %s (SELECT avg(b) FROM pairs AS o WHERE o.i = p.i) ORDER BY p.id",
			"SELECT id FROM pairs WHERE b %s (SELECT avg(b) FROM pairs WHERE i = 7) ORDER BY id",
			"SELECT id FROM pairs WHERE a %s (SELECT avg(b) FROM pairs WHERE i = 8) ORDER BY id",
			"SELECT id FROM pairs WHERE b %s (SELECT avg(a) FROM pairs WHERE i = 9) ORDER BY id",
			"SELECT id FROM pairs WHERE (SELECT avg(b) FROM pairs WHERE i = 10) %s b ORDER BY id",
			"SELECT id FROM pairs WHERE id %s (SELECT avg(id) FROM pairs) ORDER BY id",
			"SELECT id FROM pairs WHERE NOT (b %s (SELECT avg(b) FROM pairs WHERE i = 11)) ORDER BY id",
			"SELECT id FROM pairs WHERE b %s (SELECT avg(b) FROM pairs WHERE i = -1) OR id < 5 ORDER BY id",
			"SELECT id FROM pairs WHERE b %s (SELECT avg(b) FROM pairs HAVING count(*) < 0) OR id < 5 ORDER BY id",
			"SELECT id, (SELECT avg(b) FROM pairs) FROM pairs WHERE b %s (SELECT avg(b) FROM pairs) ORDER BY id",
			"SELECT id FROM pairs WHERE b %s (SELECT max(mb) FROM " + perGroup + " WHERE i < 5) ORDER BY id",
			"SELECT id FROM pairs WHERE b %s (SELECT mb FROM " + perGroup + " WHERE i = 5) ORDER BY id",
			"SELECT id FROM pairs WHERE b %s ALL (SELECT avg(b) FROM pairs WHERE i IN (3, 4)) ORDER BY id",
			"SELECT i FROM pairs GROUP BY i HAVING avg(b) %s 12.5 ORDER BY i",
			"SELECT i, avg(b) FROM pairs GROUP BY i HAVING min(b) + 0.0001 %s avg(b) ORDER BY i",
			"SELECT count(*) FROM (SELECT mb AS m FROM " + perGroup + ") AS u WHERE m %s 12",
			"SELECT count(*), sum(m) FROM (SELECT mb AS m FROM " + perGroup + " ORDER BY mb, i LIMIT 20) AS u WHERE m %s 12",
			"SELECT count(*), sum(m) FROM (SELECT mb AS m FROM " + perGroup + " UNION ALL SELECT a FROM pairs) AS u WHERE m %s 12",
			"WITH t AS (SELECT i, avg(b) AS mb FROM pairs GROUP BY i) SELECT p.id FROM pairs AS p, t WHERE t.i = p.i AND p.b %s t.mb AND t.mb > 1 ORDER BY p.id",
		} {
			compareExpression(t, conn, client, fmt.Sprintf(sql, op))
		}
	}
}

// averagedRows makes groups by i, most of whose averages of a and of b are one of the group's values, or next to it.
func averagedRows(rng *rand.Rand) []string {
	rows := []string{"(0, NULL, 1, 3)", "(1, 1, NULL, 4)", "(2, NULL, NULL, 1000)"}
	for group := range 150 {
		n := int64(1 + rng.IntN(12))
		center := rng.Int64N(pow(1+rng.IntN(11))) - rng.Int64N(1000)
		rest := int64(0)
		for range n - 1 {
			d := rng.Int64N(7) - 3
			rest += d
			rows = append(rows, averagedRow(len(rows), center+d, group))
		}
		rows = append(rows, averagedRow(len(rows), center-rest+rng.Int64N(3)-1, group))
	}
	return rows
}

// averagedRow has the value in units of the last digit of b; a is finer by two digits.
func averagedRow(id int, value int64, group int) string {
	sign := strings.Repeat("-", int(uint64(value)>>63))
	value = max(value, -value)
	b := fmt.Sprintf("%s%d.%04d", sign, value/10_000, value%10_000)
	return fmt.Sprintf("(%d, %s, %s, %d)", id, b, b, group)
}
