package server_test

import (
	"fmt"
	"testing"
)

// Each value is NULL in some rows, another one in each.
const gaps = `CREATE TABLE p (id int PRIMARY KEY, x int, y int NOT NULL, s text COLLATE "C", n numeric(8,2), d date, f bool);
CREATE TABLE q (LIKE p INCLUDING ALL);
INSERT INTO p SELECT i, nullif(i % 5, 0), i % 4, nullif('s' || i % 3, 's0'), nullif(i % 6, 1) * 1.5, nullif(date '2020-01-01' + i % 4, '2020-01-02'), nullif(i % 3, 0) = 1 FROM generate_series(1, 40) i;
INSERT INTO q SELECT i, nullif(i % 7, 0), i % 3, nullif('s' || i % 4, 's1'), nullif(i % 4, 2) * 1.5, nullif(date '2020-01-01' + i % 3, '2020-01-01'), nullif(i % 5, 0) = 2 FROM generate_series(1, 30) i`

// A condition that is unknown is no match, wherever it is asked: the engine takes it for one where it arrives at the NULL before it runs.
func TestGateway_asksConditionsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	conditions := []string{
		"p.x <> q.x", "p.x > q.x + 2", "p.s < q.s", "p.n >= q.n", "q.f", "NOT q.f", "p.f <> q.f", "q.f IS NOT TRUE", "q.f IS UNKNOWN", "q.x IS NULL", "q.x IS NOT NULL",
		"p.x IS DISTINCT FROM q.x", "p.x IS NOT DISTINCT FROM q.x", "p.x = NULLIF(q.x, 3)", "coalesce(q.x, 1) = coalesce(p.x, 1)", "p.x IN (q.x, 2)", "p.x NOT IN (q.x, 2)", "q.x NOT IN (1, NULL)",
		"p.x NOT BETWEEN q.x AND 3", "q.s NOT LIKE '%2'", "CASE WHEN p.x > 2 THEN q.x = 1 ELSE q.f END", "CASE WHEN q.x IS NULL THEN p.f END",
		"p.x > q.x OR p.f", "NOT (p.x > q.x AND q.f)", "(p.x > q.x) = q.f", "(p.x, p.y) < (q.x, q.y)", "(p.x, p.s) <= (q.x, NULL)", "(q.x, p.s) > (NULL, 's')",
		"q.x > NULLIF(1, 1)", "p.x + q.x > NULLIF(1, 1)", "p.x + q.x > NULL", "q.f AND NULL", "q.f OR NULL", "NULL::bool", "NULLIF(true, true)", "false", "q.x > length(substr('abc', NULLIF(1, 1)))",
		"q.x > (SELECT max(x) FROM q WHERE id < 0)", "p.x + q.x < (SELECT max(x) FROM q)", "q.x NOT IN (SELECT x FROM p WHERE id < 3)", "q.x NOT IN (SELECT x FROM p WHERE x IS NOT NULL AND id < 5)",
		"q.y NOT IN (SELECT y FROM p WHERE id < 0)", "p.x = ANY (SELECT x FROM p WHERE id < 0)", "q.x <> ALL (SELECT x FROM q WHERE id < 4)", "p.y < ALL (SELECT y FROM q WHERE id < 3)", "EXISTS (SELECT FROM p WHERE id < 0)",
		"q.x = ANY ('{1,NULL}')", "q.x <> ALL ('{1,NULL}')", "greatest(p.x, q.x) = 4", "least(q.x, NULL) = 1", "length(substr(q.s, NULLIF(p.x, 2))) > 1", "p.d + 1 = q.d", "p.n / NULLIF(q.n, 0) > 1",
	}
	places := []string{
		"SELECT p.id, q.id FROM p JOIN q ON p.y = q.y AND (%s) ORDER BY 1, 2",
		"SELECT p.id, q.id FROM p LEFT JOIN q ON p.y = q.y AND (%s) ORDER BY 1, 2",
		"SELECT p.id, q.id FROM p RIGHT JOIN q ON p.y = q.y AND (%s) ORDER BY 1, 2",
		"SELECT p.id, q.id FROM p FULL JOIN q ON p.id = q.id AND (%s) ORDER BY 1, 2",
		"SELECT p.id, q.id FROM p FULL JOIN q ON p.id = q.id WHERE %s ORDER BY 1, 2",
		"SELECT p.id FROM p WHERE EXISTS (SELECT FROM q WHERE q.y = p.y AND p.id <> q.id AND (%s)) ORDER BY 1",
		"SELECT p.id FROM p WHERE NOT EXISTS (SELECT FROM q WHERE q.y = p.y AND (%s)) ORDER BY 1",
		"SELECT p.id, EXISTS (SELECT FROM q WHERE q.id = p.id AND (%s)) FROM p ORDER BY 1",
		"SELECT p.y, count(*) FILTER (WHERE %[1]s), bool_and(%[1]s), sum(CASE WHEN %[1]s THEN 1 ELSE 2 END) FROM p LEFT JOIN q ON p.id = q.id GROUP BY 1 ORDER BY 1",
		"SELECT p.id, q.id, %[1]s, NOT (%[1]s), (%[1]s) IS NULL FROM p LEFT JOIN q ON p.id = q.id ORDER BY 1, 2",
		"SELECT p.id, q.id FROM p LEFT JOIN q ON p.id = q.id LEFT JOIN q r ON r.id = p.id AND (%s) WHERE r.id IS NULL ORDER BY 1, 2",
	}
	var statements []string
	for _, place := range places {
		for _, c := range conditions {
			statements = append(statements, fmt.Sprintf(place, c))
		}
	}
	wantAlike(t, gaps, 0.7, statements)
}

// A function of a NULL is one, but for those that are made for it.
func TestGateway_computesWithNullsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const row = "FROM (SELECT p.id, p.x, p.y, q.x AS z, p.s, q.s AS r, p.n, q.n AS m, p.d, q.d AS e, p.f, q.f AS g, p.d + interval '90 minutes' AS t FROM p LEFT JOIN q ON q.id = p.id) v ORDER BY id"
	values := []string{
		"abs(x)", "round(n)", "ceil(n)", "trunc(n, 1)", "sign(n)", "mod(x, z)", "greatest(x, z, y)", "least(x, z)", "coalesce(x, z, -1)", "NULLIF(x, z)", "x + z", "x / NULLIF(z, 0)", "n * m", "n / NULLIF(m, 0)", "n + x", "-n", "x & z",
		"length(s)", "upper(s)", "initcap(s)", "substr(s, x)", "substr(s, x, z)", "substring(s FROM z FOR x)", "left(s, x)", "right(s, z - 3)", "right(s, -2147483648)", "left(s, NULLIF(1, 1))", "strpos(s, r)", "position(r IN s)", "btrim(s)", "lpad(s, 5, '*')", "repeat(s, 2)",
		"replace(s, 's', 'x')", "reverse(s)", "s || r", "s || x", "concat(s, r, x)", "concat_ws('-', s, r)", "ascii(s)", "split_part(s, 's', 2)", "starts_with(s, r)", "md5(s)", "overlay(s PLACING r FROM 1 FOR 1)",
		"extract(year FROM d)", "date_trunc('month', t)", "d + x", "d - e", "t - e", "d < t", "to_char(t, 'YYYY-MM')", "d + interval '1 month'", "x::text", "n::int", "x::numeric(6,1)", "s::char(3)", "f::int", "d::timestamp",
		"x = z", "s LIKE r", "s LIKE 's%'", "x IN (z, 2)", "x NOT IN (z, 2)", "x BETWEEN z AND y", "f AND g", "f OR g", "NOT f", "f IS TRUE", "g IS NOT FALSE", "x IS DISTINCT FROM z", "x = ANY (ARRAY[z, y])", "x <> ALL (ARRAY[z, y])", "(x, z) = (y, y)", "(x, s) < (z, r)",
		"CASE WHEN f THEN x ELSE z END", "CASE x WHEN z THEN s ELSE r END", "CASE WHEN x > z THEN n WHEN g THEN m END", "sum(x) OVER (PARTITION BY z ORDER BY id)", "lag(x, 1, z) OVER (ORDER BY id)",
	}
	var statements []string
	for _, v := range values {
		statements = append(statements, "SELECT id, "+v+" AS value "+row)
	}
	wantAlike(t, gaps, 0.9, statements)
}
