package server_test

import (
	"strings"
	"testing"
)

const brittle = `CREATE TABLE r (id int PRIMARY KEY, a int, n numeric(8,2), f float8, s text COLLATE "C", d date, ts timestamp, tags int[]);
INSERT INTO r SELECT i, i % 5, i * 1.25 - 20, i / 2.0 - 10, (ARRAY['12', 'x', '-7', NULL, '1e3', '99999999999'])[i % 6 + 1], (ARRAY['2024-02-29', 'infinity', NULL, '-infinity'])[i % 4 + 1]::date,
  (ARRAY['infinity', '2024-02-29 12:00', NULL])[i % 3 + 1]::timestamp, CASE WHEN i % 4 > 0 THEN ARRAY[i % 3, NULL] END FROM generate_series(1, 30) i;
CREATE TABLE p (id int PRIMARY KEY, r int NOT NULL, x int); INSERT INTO p SELECT i, i % 40, i % 9 FROM generate_series(1, 60) i`

// A value that PostgreSQL refuses for some rows ends a statement wherever PostgreSQL computes it, and nowhere else.
func TestGateway_meetsFailingValuesWherePostgreSQLDoes(t *testing.T) {
	t.Parallel()
	values := []string{
		"10 / (r.a - 3)", "r.s::int", "r.s::numeric", "sqrt(r.f)", "r.id + 2147483620", "(r.id * 2000)::smallint", "r.n / (r.a - 3)", "r.n::numeric(3,1)", "1 / (r.f - 1)", "mod(r.id, r.a)",
		"r.d - date '2024-01-01'", "r.d - r.d", "r.ts - r.ts", "10 / r.tags[1]", "substring(r.s, 1, r.a - 1)", "make_date(2023, 2, r.id)", "r.d::timestamp", "(r.s || 'x')::date", "(r.f * 1e9)::int",
		"CASE WHEN r.a = 7 THEN 0 ELSE 1 / r.a END", "coalesce(r.tags[2], 1 / r.a)", "nullif(1 / r.a, 7)", "extract(day FROM r.ts - r.ts)", "to_timestamp(r.f * 1e12)",
		"(SELECT z.id FROM p z WHERE z.x = r.a)", "(SELECT z.x FROM p z WHERE z.id = r.id)",
	}
	places := []string{
		"SELECT id, @ FROM r ORDER BY id", "SELECT id FROM r WHERE (@) IS NOT NULL ORDER BY id", "SELECT id FROM r WHERE id < 0 AND (@) IS NULL", "SELECT count(*) FROM r WHERE id > 0 OR (@) IS NULL",
		"SELECT count(*) FROM r WHERE a NOT IN (0, 3) AND (@) IS NOT NULL", "SELECT id, CASE WHEN a > 100 THEN @ END FROM r ORDER BY id", "SELECT id, CASE WHEN a IN (1, 2) THEN @ END FROM r ORDER BY id",
		"SELECT id, CASE WHEN (@) IS NULL THEN 1 ELSE 1 END FROM r ORDER BY id", "SELECT count(*) FROM r WHERE CASE WHEN (@) IS NULL THEN false ELSE false END", "SELECT count(*) FROM r WHERE CASE WHEN (@) IS NULL THEN 1 END = 2",
		"SELECT id, CASE WHEN id > 0 THEN 1 WHEN (@) IS NULL THEN 2 END FROM r ORDER BY id", "SELECT id, coalesce(id::text, (@)::text) FROM r ORDER BY id", "SELECT count(@) FROM r", "SELECT max(@) FROM r",
		"SELECT count(*), count(@) FILTER (WHERE a > 100) FROM r", "SELECT count(*) FILTER (WHERE (@) IS NULL) FROM r", "SELECT count(DISTINCT @) FROM r", "SELECT @, count(*) FROM r GROUP BY 1 ORDER BY 1",
		"SELECT count(*) FROM r GROUP BY @ ORDER BY 1", "SELECT a FROM r GROUP BY a HAVING count(@) > 1000", "SELECT a FROM r GROUP BY a HAVING a > 100 AND count(@) > 1", "SELECT a, count(@) FROM r GROUP BY ROLLUP (a) ORDER BY 1, 2",
		"SELECT id FROM r ORDER BY @, id", "SELECT id FROM r ORDER BY @, id LIMIT 0", "SELECT id, @ FROM r ORDER BY id LIMIT 0", "SELECT id, @ FROM r ORDER BY id LIMIT 2", "SELECT id, @ FROM r ORDER BY id OFFSET 28",
		"SELECT r.id, p.id FROM r JOIN p ON p.r = r.id AND (@) IS NOT NULL ORDER BY 1, 2", "SELECT r.id, p.id FROM r LEFT JOIN p ON p.r = r.id AND (@) IS NOT NULL ORDER BY 1, 2",
		"SELECT r.id, p.id FROM p LEFT JOIN r ON p.r = r.id AND (@) IS NOT NULL ORDER BY 1, 2", "SELECT p.id, q.v FROM p LEFT JOIN (SELECT id, @ AS v FROM r) q ON q.id = p.r ORDER BY 1",
		"SELECT p.id FROM p LEFT JOIN (SELECT id, @ AS v FROM r) q ON q.id = p.r ORDER BY 1", "SELECT id FROM p WHERE EXISTS (SELECT @ FROM r WHERE r.id = p.r) ORDER BY 1",
		"SELECT id FROM p WHERE EXISTS (SELECT FROM r WHERE r.id = p.r AND (@) IS NULL) ORDER BY 1", "SELECT id FROM p WHERE NOT EXISTS (SELECT FROM r WHERE r.id = p.r AND (@) IS NULL) ORDER BY 1",
		"SELECT count(*) FROM p WHERE id::text IN (SELECT (@)::text FROM r)", "SELECT sum(x) FROM p WHERE id IN (SELECT id FROM r WHERE (@) IS NOT NULL)", "SELECT id, (SELECT count(@) FROM r WHERE r.id = p.r) FROM p ORDER BY 1",
		"SELECT id, (SELECT @ FROM r WHERE r.id = p.r) FROM p ORDER BY 1", "SELECT id, (SELECT @ FROM r WHERE r.id = p.r) FROM p WHERE x = 200", "SELECT id, count(@) OVER (ORDER BY id) FROM r ORDER BY id",
		"SELECT id, row_number() OVER (PARTITION BY @ ORDER BY id) FROM r ORDER BY id", "SELECT id, row_number() OVER (ORDER BY @, id) FROM r ORDER BY id", "SELECT id, lag(@) OVER (ORDER BY id) FROM r ORDER BY id",
		"SELECT id FROM (SELECT id, count(@) OVER (ORDER BY id) AS c FROM r) q WHERE id < 0", "SELECT id FROM (SELECT id, @ AS v FROM r UNION ALL SELECT id, @ FROM r) q ORDER BY 1",
		"SELECT count(*) FROM (SELECT @ FROM r UNION SELECT @ FROM r) q", "WITH w AS (SELECT id, @ AS v FROM r) SELECT count(*) FROM w", "WITH w AS MATERIALIZED (SELECT id, @ AS v FROM r) SELECT count(*) FROM w",
		"WITH w AS (SELECT id, @ AS v FROM r) SELECT w.id FROM w JOIN w AS o USING (id) ORDER BY 1", "WITH w AS (SELECT id, @ AS v FROM r) SELECT count(*) FROM p", "SELECT DISTINCT ON (a) a, id, @ FROM r ORDER BY a, id",
		"SELECT DISTINCT ON (@) id FROM r ORDER BY @, id", "SELECT DISTINCT @ FROM r ORDER BY 1", "SELECT count(*) FROM (SELECT DISTINCT @ FROM r) q", "SELECT id, q.v FROM r CROSS JOIN LATERAL (VALUES (@)) q(v) ORDER BY id",
		"SELECT id, v FROM r CROSS JOIN LATERAL unnest(ARRAY[(@)::text, 'x']) q(v) ORDER BY id, v", "SELECT id, id > 0 OR (@) IS NULL FROM r ORDER BY id", "SELECT count(*) FROM (SELECT id, @ AS v FROM r LIMIT 1000) q WHERE id < 0",
		"SELECT bool_and((@) IS NULL) FROM r", "SELECT string_agg((@)::text, ',' ORDER BY id) FROM r", "SELECT array_agg(id ORDER BY @, id) FROM r", "SELECT string_agg(nullif(s, s), ',' ORDER BY @, id) FROM r", "SELECT count(*) FROM r WHERE (@) IS NOT DISTINCT FROM (@)",
	}
	var statements []string
	for i, v := range values {
		for j, place := range places {
			if everyPair(2, i, j, 0) {
				statements = append(statements, strings.ReplaceAll(place, "@", v))
			}
		}
	}
	wantAlike(t, brittle, 0.15, statements)
}

// PostgreSQL computes all arguments of a function before it finds that one of them is NULL.
func TestGateway_meetsFailingValuesBesideNULLs(t *testing.T) {
	t.Parallel()
	g := start(t, brittle+"; UPDATE r SET ts = NULL WHERE id = 8")
	oltp, auto := g.connect(g.oltp.URL("postgres")), g.client()
	columnar, _ := g.routes()
	for _, value := range []string{
		"left((#)::text, tags[1])", "right((#)::text, tags[1])", "substring((#)::text, tags[1])", "substring('abc', #, tags[1])", "substring(s, tags[1], abs(#))",
		"(#)::numeric % tags[1]", "div(tags[1], (#)::numeric)", "mod((#)::numeric, tags[1] + 5.5)", "(#) = ANY (tags)", "(#) <> ALL (tags)", "tags @> ARRAY[#]", "tags && ARRAY[1, #]", "(#) = ANY (nullif('{}'::int[], '{}'))",
		"age(ts, timestamp '2024-01-01' + make_interval(days => #))", "ts + make_interval(months => #)",
	} {
		sql := "SELECT id, " + value + " FROM r WHERE id % 3 = 2 ORDER BY id"
		wantSameOutcome(t, auto, oltp, strings.ReplaceAll(sql, "#", "10 / (id - 8)")) // where tags and ts are NULL
	}
	for _, value := range []string{"left((#)::text, tags[1] + 1)", "mod((#)::numeric, tags[1] + 5.5)", "div(tags[1], (#)::numeric)", "(#) = ANY (tags)", "(#) <> ALL (tags)", "tags @> ARRAY[#]", "tags && ARRAY[1, #]"} {
		wantSameAnswer(t, columnar, oltp, strings.ReplaceAll("SELECT id, "+value+" FROM r WHERE id < 6 ORDER BY id", "#", "10 / (8 - id)"))
	}
}
