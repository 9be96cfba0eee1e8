package server_test

import (
	"fmt"
	"testing"
)

// Numerics without a declared scale have one of their own each: 1.0 and 1.00 are equal, and look different.
func TestGateway_computesWithUnconstrainedNumerics(t *testing.T) {
	wantAlike(t, `CREATE TABLE n (id int PRIMARY KEY, g int NOT NULL, a numeric, b numeric NOT NULL, c numeric(12,2), f float8, t text);
		INSERT INTO n SELECT i, i % 5, CASE WHEN i % 7 > 0 THEN i / 3.0 - 50 END, (i * 37 % 101 || 'e-' || i % 5)::numeric, i / 4.0, i / 8.0, i / 2.5 FROM generate_series(1, 200) i;
		INSERT INTO n VALUES (301, 6, 1.0, 1.00, 1, 1, '1'), (302, 6, 1.00, 1.000, 1, 1, '1.0'), (303, 6, 0, 0.000, 0, 0, '0'), (304, 7, -0.5, 999999999999999999, 2, 2, '2'),
			(305, 7, 1e10, 0.0000000001, 3, 3, '3'), (306, 8, NULL, 5, NULL, NULL, NULL);
		CREATE TABLE m (k numeric PRIMARY KEY, v numeric); INSERT INTO m VALUES (1.0, 2), (2.50, 3.125), (0, NULL), (-0.5, 7)`, 1, []string{
		"SELECT id, a, b FROM n ORDER BY id",
		"SELECT sum(a), sum(b), avg(a), avg(b), count(a), count(DISTINCT a), count(DISTINCT b) FROM n",
		"SELECT g, sum(a), sum(b), avg(b), count(*) FROM n GROUP BY g ORDER BY g",
		"SELECT min(b), max(a) FROM n WHERE id <= 200",
		"SELECT id, a + b, a - 1, a * b, -a, a * 2, +b, a + c, c * b FROM n ORDER BY id",
		"SELECT id, a / 3, b / 7.00, c / (b + 1) FROM n ORDER BY id",
		"SELECT id, a % 3, mod(b, 0.7), div(a, 3) FROM n ORDER BY id",
		"SELECT id, round(a, 2), round(a), trunc(b, 1), ceil(a), floor(b), abs(a), sign(a) FROM n ORDER BY id",
		"SELECT id FROM n WHERE a > 0 ORDER BY id", "SELECT id FROM n WHERE a = 1 ORDER BY id", "SELECT id FROM n WHERE a = b ORDER BY id",
		"SELECT id FROM n WHERE b BETWEEN 0.5 AND 3 ORDER BY id", "SELECT id FROM n WHERE a IN (1, 0, -0.50) ORDER BY id", "SELECT id FROM n WHERE a IN (b, c) ORDER BY id",
		"SELECT id FROM n WHERE a NOT IN (1, 2) ORDER BY id", "SELECT id FROM n WHERE a <> '1.00' ORDER BY id", "SELECT id FROM n WHERE b < f AND id <= 200 ORDER BY id",
		"SELECT id FROM n WHERE a IS NULL ORDER BY id", "SELECT id FROM n WHERE a IS DISTINCT FROM 1 ORDER BY id", "SELECT id FROM n WHERE a > ALL (SELECT b FROM n WHERE g = 1) ORDER BY id",
		"SELECT id, a FROM n ORDER BY a DESC NULLS LAST, id LIMIT 20", "SELECT id FROM n ORDER BY b, id", "SELECT id FROM n ORDER BY a * 2, id",
		"SELECT id, a::int, b::numeric(30,3), b::float8, b::text, a::text || '!', b::numeric, a::varchar(5) FROM n WHERE id <= 300 ORDER BY id",
		"SELECT b, count(*), sum(a) FROM n WHERE id < 100 AND id % 5 = 2 GROUP BY b ORDER BY b", "SELECT g, b * 2 AS d, count(*) FROM n WHERE id < 100 GROUP BY 1, 2 ORDER BY 1, 2",
		"SELECT k, sum(v), max(n.b) FROM m JOIN n ON n.b > m.k GROUP BY k ORDER BY k", "SELECT g, string_agg(t, ',' ORDER BY b, id) FROM n GROUP BY g ORDER BY g",
		"SELECT m.k, v, count(*) FROM m JOIN n ON n.g > 3 GROUP BY m.k ORDER BY m.k",
		"SELECT id, coalesce(a, 0), coalesce(a, b), nullif(a, 1), CASE WHEN a > b THEN a ELSE b END, CASE WHEN g = 1 THEN a ELSE 1 END FROM n ORDER BY id",
		"SELECT id, greatest(a, b), least(c, a) FROM n WHERE id <= 200 ORDER BY id",
		"SELECT n.id, m.v FROM n JOIN m ON n.a = m.k ORDER BY n.id, m.v", "SELECT n.id, m.v * n.b FROM n LEFT JOIN m ON n.b = m.k ORDER BY n.id",
		"SELECT id FROM n WHERE a IN (SELECT k FROM m) ORDER BY id", "SELECT id FROM n WHERE EXISTS (SELECT FROM m WHERE m.k = n.a) ORDER BY id",
		"SELECT id FROM n WHERE a > (SELECT avg(v) FROM m) ORDER BY id", "SELECT id, (SELECT sum(v) FROM m WHERE m.k = n.a) FROM n ORDER BY id",
		"SELECT s.x, s.x + 1 FROM (SELECT a AS x FROM n WHERE g = 2) s ORDER BY s.x", "WITH s AS (SELECT g, sum(a) AS x FROM n GROUP BY g) SELECT g, x, x / 2 FROM s ORDER BY g",
		"SELECT id, sum(b) OVER (ORDER BY id), avg(b) OVER (PARTITION BY g ORDER BY id), lag(a) OVER (ORDER BY id), rank() OVER (ORDER BY b) FROM n ORDER BY id",
		"SELECT g, sum(a) FILTER (WHERE b > 1), sum(CASE WHEN a > 0 THEN b ELSE 0 END) FROM n GROUP BY g HAVING sum(b) > 1 ORDER BY g",
		"SELECT to_char(a, 'FM999990.00') FROM n WHERE id <= 200 ORDER BY id", "SELECT sum(a * c), sum(c * (1 - b)), sum(b * (1 - b)) FROM n WHERE id <= 200",
	})
}

func TestGateway_leavesOtherUnconstrainedNumericsToPostgreSQL(t *testing.T) {
	columnar, oltp := start(t, `CREATE TABLE n (id int PRIMARY KEY, v numeric);
		INSERT INTO n VALUES (1, 'NaN'), (2, 'Infinity'), (3, '-Infinity'), (4, 1e18), (5, -1e17), (6, 1e-21), (7, 1234567890123456789.5), (8, NULL), (9, 1)`).routes()
	for id := 1; id <= 9; id++ {
		row := fmt.Sprintf(" FROM n WHERE id = %d", id)
		if got := alike(t, columnar, oltp, "SELECT v, v::text"+row, inOrder); got != answered {
			t.Errorf("row %d is not shown", id)
		}
		for _, value := range []string{"v + 1", "sum(v)", "v > 0", "v::int8", "round(v, 2)"} {
			if got := alike(t, columnar, oltp, "SELECT "+value+row, inOrder); got != refused != (id > 7) {
				t.Errorf("%s of row %d ended as %d", value, id, got)
			}
		}
	}
}
