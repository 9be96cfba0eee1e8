package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Arrays of what a group has, of types that an array's text has written in several ways.
func TestGateway_makesArraysOfGroupsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	var statements []string
	for _, value := range []string{"id", "name", "wanted", "token", "id > wanted", "wanted::smallint % 3", "id * 3000000000", "name::varchar(2)", "short[1]", "coalesce(name, 'none')", "CASE WHEN id % 3 = 0 THEN name END", "1", "'x'", "date '2024-02-28' + id", "CASE WHEN id > 3 THEN date '2024-02-28' - id END", "timestamp '2024-02-28 12:00' + id * interval '1.5 seconds'", "id * 1.50", "wanted::numeric(20,3)"} {
		for _, sql := range []string{
			"SELECT array_agg($ ORDER BY id), array_agg($ ORDER BY wanted DESC, id DESC), array_agg($ ORDER BY wanted NULLS FIRST, id) FROM article", "SELECT id % 4, array_agg($ ORDER BY id) FROM article GROUP BY 1 ORDER BY 1",
			"SELECT array_agg($ ORDER BY id) FILTER (WHERE wanted > 0), array_agg($ ORDER BY id) FILTER (WHERE false) FROM article", "SELECT array_agg($ ORDER BY id) FROM article WHERE id < 0",
			"SELECT array_agg(DISTINCT $) FROM article", "SELECT array_agg(DISTINCT $ ORDER BY $ DESC) FROM article", "SELECT a.id, x FROM article a, LATERAL (SELECT array_agg($ ORDER BY b.id) AS x FROM (SELECT * FROM article) b WHERE b.wanted = a.id) v ORDER BY 1",
			"SELECT id % 3, (array_agg($ ORDER BY id DESC))[1], (array_agg($ ORDER BY wanted NULLS FIRST, id))[2], (array_agg($ ORDER BY id) FILTER (WHERE id > 15))[1] FROM article GROUP BY 1 ORDER BY 1",
		} {
			if strings.Contains(sql, "b.id") {
				sql = strings.ReplaceAll(sql, "$", "b.name")
			}
			statements = append(statements, strings.ReplaceAll(sql, "$", value))
		}
	}
	statements = append(slices.Compact(statements),
		"SELECT x, count(*) FROM (SELECT array_agg(name ORDER BY id) AS x FROM article GROUP BY id % 5) v GROUP BY x ORDER BY 1", "SELECT id % 2 FROM article GROUP BY 1 HAVING 'a' = ANY (array_agg(name ORDER BY id)) ORDER BY 1",
		"SELECT unnest(x) AS v, count(*) FROM (SELECT array_agg(name ORDER BY id) AS x FROM article GROUP BY id % 5) v GROUP BY 1 ORDER BY 2, 1", "SELECT string_agg(DISTINCT name, '; '), string_agg(DISTINCT name, '') FILTER (WHERE id > 5) FROM article",
		"SELECT id % 3, cardinality(array_agg(name ORDER BY id)), array_to_string(array_agg(id ORDER BY id), ',', '-'), (array_agg(DISTINCT name))[1] FROM article GROUP BY 1 ORDER BY 1", "SELECT (array_agg(docs[1] ORDER BY id))[1], (array_agg(price::float8 ORDER BY id DESC))[2] FROM (SELECT *, id * 1.1 AS price FROM article) v",
		"SELECT id, (SELECT array_agg(b.name ORDER BY b.id) FROM article b WHERE b.wanted = a.wanted) FROM article a ORDER BY 1", "SELECT array_agg(7 / id ORDER BY id) FILTER (WHERE id <> 0) FROM article", "SELECT array_agg(7 / id ORDER BY id) FROM article",
		`SELECT string_agg(NULL COLLATE "C", 'x' ORDER BY (NULL::text || 'a') COLLATE "C" DESC), array_agg(NULL COLLATE "C" ORDER BY id) FROM article`,
	)
	wantAlike(t, articles, 0.85, statements)
}

// Arrays of which all that a statement reads of is written in it, or bound to it.
func TestGateway_makesRowsOfConstantArraysAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, articles).routes()
	var statements []string
	for array, column := range map[string]string{
		"ARRAY[1, NULL, 3, 1]": "id", "'{a,\"x y\",NULL,\"\"}'::text[]": "name", "ARRAY['a', 'b']::varchar[]": "name", "'{}'::int[]": "wanted", "ARRAY[2, 3000000000]": "id", "'{t,f}'::bool[]": "flags[1]",
		"ARRAY[md5('3')::uuid, NULL]": "token", "ARRAY['2024-02-29', NULL]::date[]": "date '2024-02-29'", "ARRAY[timestamp '2024-02-29 12:00', '2024-03-01']": "timestamp '2024-03-01'", "NULL::int[]": "id",
	} {
		for _, sql := range []string{
			"SELECT x FROM unnest($) AS x ORDER BY x", "SELECT t.v, a.id FROM unnest($) AS t(v) LEFT JOIN article a ON # = t.v ORDER BY 1, 2", "SELECT id FROM article WHERE # IN (SELECT unnest($)) ORDER BY id",
			"SELECT id FROM article WHERE # NOT IN (SELECT unnest($) AS v) ORDER BY id", "SELECT a.id FROM article a JOIN unnest($) AS v ON # = v ORDER BY 1", "SELECT unnest($), 'x' ORDER BY 1", "SELECT unnest, count(*) FROM unnest($) GROUP BY 1 ORDER BY 1",
			"SELECT a.id, v FROM article a CROSS JOIN unnest($) v WHERE a.id < 3 ORDER BY 1, 2", "SELECT id FROM article a WHERE EXISTS (SELECT FROM unnest($) v WHERE v = #) ORDER BY 1", "SELECT v FROM unnest($) v WHERE NOT EXISTS (SELECT FROM article a WHERE # = v) ORDER BY 1",
		} {
			statements = append(statements, strings.NewReplacer("$", array, "#", column).Replace(sql))
		}
	}
	statements = append(statements, "SELECT * FROM unnest(ARRAY[1.5, 2]) ORDER BY 1", "SELECT * FROM unnest('{{1,2},{3,4}}'::int[]) ORDER BY 1", "SELECT * FROM unnest('{1,2}'::int[], '{3,4}'::int[]) ORDER BY 1", "SELECT * FROM unnest('{1,2}'::int[]) WITH ORDINALITY ORDER BY 1",
		"SELECT x + y FROM unnest(ARRAY[1, 2]) x, unnest(ARRAY[10, 20]) y ORDER BY 1", "SELECT * FROM unnest('[0:1]={1,2}'::int[]) ORDER BY 1", "SELECT sum(x) FROM unnest(ARRAY[1, 2, 3]) x")
	wantAlikeIn(t, columnar, oltp, 0.8, statements)
	bound := []string{"{}", "{1,2,3}", "{NULL,7}"}
	wantAlikeBound(t, columnar, oltp, "SELECT a.id, v FROM article a JOIN unnest($1::int[]) AS v ON a.wanted = v ORDER BY 1", bound, 1)
	wantAlikeBound(t, columnar, oltp, "SELECT id FROM article WHERE wanted IN (SELECT unnest($1::int[])) ORDER BY 1", bound, 1)
}

// ARRAY(SELECT … ORDER BY …) is never NULL.
func TestGateway_makesArraysOfSubqueriesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, lateralSchema).routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT b.id, ARRAY(SELECT s.id FROM sale s WHERE s.buyer = b.id ORDER BY s.id) FROM buyer b ORDER BY 1", "SELECT b.id, ARRAY(SELECT DISTINCT s.name FROM sale s WHERE s.buyer = b.id ORDER BY s.name DESC) FROM buyer b ORDER BY 1", "SELECT b.id, ARRAY(SELECT s.total AS t FROM sale s WHERE s.buyer = b.id ORDER BY s.n DESC, t DESC, s.id DESC) FROM buyer b ORDER BY 1",
		"SELECT b.id, ARRAY(SELECT s.name FROM sale s WHERE s.buyer = b.id AND s.n > 3 ORDER BY 1) FROM buyer b ORDER BY 1", "SELECT id, ARRAY(SELECT name FROM buyer ORDER BY id), ARRAY(SELECT id FROM none ORDER BY id) FROM buyer ORDER BY 1", "SELECT id FROM buyer b WHERE ARRAY(SELECT s.name FROM sale s WHERE s.buyer = b.id ORDER BY s.id) @> '{a}' ORDER BY 1",
		"SELECT id, cardinality(ARRAY(SELECT s.n FROM sale s WHERE s.buyer = b.id ORDER BY s.id)), array_to_string(ARRAY(SELECT s.name FROM sale s WHERE s.buyer = b.id ORDER BY s.id), '/') FROM buyer b ORDER BY 1", "SELECT ARRAY(SELECT s.name FROM sale s WHERE s.buyer = b.id ORDER BY s.id) AS a, count(*) FROM buyer b GROUP BY 1 ORDER BY 2, min(b.id)",
		"SELECT b.id, s.x FROM buyer b CROSS JOIN LATERAL (SELECT array_agg(total ORDER BY id) AS x FROM sale WHERE buyer = b.id) s ORDER BY 1",
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{
		"SELECT b.id, cardinality(ARRAY(SELECT s.id FROM sale s WHERE s.buyer = b.id)) FROM buyer b ORDER BY 1", "SELECT b.id, ARRAY(SELECT s.id FROM sale s WHERE s.buyer = b.id ORDER BY s.id LIMIT 2) FROM buyer b ORDER BY 1", "SELECT b.id, ARRAY(SELECT count(*) FROM sale s WHERE s.buyer = b.id ORDER BY 1) FROM buyer b ORDER BY 1",
		"SELECT id, ARRAY(SELECT unnest('{1,2}'::int[]) FROM none ORDER BY 1) FROM buyer ORDER BY 1", "SELECT id, ARRAY(SELECT DISTINCT ON (name) id FROM sale ORDER BY name, id) FROM buyer ORDER BY 1", "SELECT b.id, ARRAY(SELECT 10 / (s.n - 1) FROM sale s WHERE s.buyer = b.id ORDER BY s.id) FROM buyer b ORDER BY 1",
	})
}

// Arrays that the replica makes of what it has no arrays of, in either format.
func TestGateway_writesComputedArraysAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TABLE r (id int PRIMARY KEY, n numeric(30,4), f float8, i bigint, d date, ts timestamp);
INSERT INTO r VALUES (1, 0, 0.1, 1, '1900-01-01', '1969-12-31 23:59:59.999999'), (2, -123456789012345678901234.5, '-1e300', 9223372036854775807, '1999-12-31', '2000-01-01'), (3, NULL, NULL, NULL, NULL, NULL),
  (4, 0.0001, '-Infinity', -1, '2024-02-29', '2024-02-29 12:00:00.5'), (5, 99, '1e-7', 5, '2299-12-30', '2199-01-01'), (6, 7.5, 'Infinity', 12, '2000-01-01', '1900-01-01'), (7, 8, 1e15, 13, '2000-01-02', '1970-01-01'), (8, 9, 123456789.123456789, 14, '2000-01-03', '1970-01-02')`).routes()
	for _, sql := range []string{
		"SELECT array_agg(n ORDER BY id), array_agg(DISTINCT n), array_agg(d ORDER BY id), array_agg(ts ORDER BY id DESC) FROM r", "SELECT percentile_cont(ARRAY[0, 0.5, NULL, 0.9, 1]) WITHIN GROUP (ORDER BY f), percentile_cont(ARRAY[0.1]) WITHIN GROUP (ORDER BY n DESC) FROM r WHERE id <> 2",
		"SELECT id, percentile_cont(ARRAY[0.5, NULL]) WITHIN GROUP (ORDER BY f) FROM r GROUP BY id ORDER BY id", "SELECT percentile_disc(ARRAY[0, 0.5, NULL, 0.9, 1]) WITHIN GROUP (ORDER BY f DESC), percentile_disc(ARRAY[0.1, 1]) WITHIN GROUP (ORDER BY n), percentile_disc(ARRAY[0.5]) WITHIN GROUP (ORDER BY d), percentile_disc(ARRAY[0.1, 1]) WITHIN GROUP (ORDER BY ts) FROM r",
		"SELECT percentile_cont(ARRAY[0.5]) WITHIN GROUP (ORDER BY i), percentile_disc(ARRAY[0.5]) WITHIN GROUP (ORDER BY d) FROM r WHERE id < 0",
	} {
		for _, format := range []int16{pgx.TextFormatCode, pgx.BinaryFormatCode} {
			ask := func(c *pgx.Conn) []string {
				r := c.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, []int16{format}).Read()
				if r.Err != nil {
					t.Fatalf("%s: %v", sql, r.Err)
				}
				return texts(r.Rows)
			}
			if got, want := ask(columnar), ask(oltp); !slices.Equal(got, want) {
				t.Errorf("%s in format %d: %q, PostgreSQL says %q", sql, format, got, want)
			}
		}
	}
}
