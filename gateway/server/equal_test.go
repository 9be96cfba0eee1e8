package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const measures = `CREATE TABLE measure (id int PRIMARY KEY, sensor int, value numeric(12,4) NOT NULL, at timestamp NOT NULL, part int NOT NULL);
INSERT INTO measure SELECT i, nullif(i % 7, 0), i * 1.5, timestamp '2019-12-28 23:59:59.987654' + i * interval '7 hours', i % 50 FROM generate_series(0, 299) i;
CREATE TABLE sensor (id int PRIMARY KEY, kind text);
INSERT INTO sensor SELECT i, 'k' || i FROM generate_series(0, 9) i`

// Answers that once differed: the engine lost a condition, or the translation did.
func TestGateway_answersAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, measures)
	columnar, oltp := g.routes()
	for _, sql := range []string{
		"SELECT count(*) FROM measure m JOIN sensor s ON m.sensor = s.id AND m.value BETWEEN 764391.9053 AND 0",
		"SELECT count(*) FROM sensor s JOIN measure m ON m.sensor = s.id AND m.value BETWEEN 50 AND 7 FULL JOIN sensor o ON o.id = m.sensor",
		"SELECT count(*) FROM measure m CROSS JOIN sensor o WHERE EXISTS (SELECT FROM sensor s WHERE s.id = m.sensor AND m.value BETWEEN 50 AND 7)",
		"SELECT count(*) FROM measure CROSS JOIN (SELECT 1 FROM sensor WHERE NULL IS DISTINCT FROM NULL) s",
		"SELECT count(*) FROM measure WHERE NULL::int IS NOT DISTINCT FROM NULL::int AND sensor IS DISTINCT FROM NULL",
		"SELECT count(*), count(*) FILTER (WHERE sensor IS DISTINCT FROM 3) FROM measure",
		"SELECT min(CASE sensor WHEN 6 THEN NULL ELSE value END), count(CASE sensor WHEN 6 THEN NULL ELSE id END) FROM measure",
		`SELECT id, to_char(at, 'YYYY-MM-DD HH24:MI:SS.MS US'), to_char(at, 'IYYY-"W"IW-ID DDD Q yy'), to_char(at, 'dd mon Mon MON') FROM measure ORDER BY id`,
		"SELECT to_char(at, 'YYYY-MM') AS month, sum(value) FROM measure GROUP BY month ORDER BY month",
		"SELECT id, extract(epoch FROM at), date_part('epoch', at), extract(epoch FROM at::date) FROM measure ORDER BY id",
		"SELECT id, 100 / (part + 1), 100.0 / (part + 1) FROM measure ORDER BY value DESC, id LIMIT 5",
		"SELECT sensor, sum(value) / count(*), avg(value) FROM measure GROUP BY sensor ORDER BY 2 DESC LIMIT 3",
		"SELECT id, value / 7 / (id + 1), abs(value / 3 - value / 7) / (value / 3 + 1) FROM measure ORDER BY id",
		"SELECT id, sensor, s / a, abs(s - a) / a FROM (SELECT part AS id, sensor, sum(value) AS s, avg(sum(value)) OVER (PARTITION BY sensor) AS a FROM measure GROUP BY part, sensor) x ORDER BY id, sensor",
		"SELECT sensor, sum(value / (part + 1)), count(DISTINCT value / (part + 1)) FROM measure GROUP BY sensor ORDER BY sensor",
		`SELECT sensor, sum(v * (1 - d) * (1 + t)) / sum(v * (1 - d)), sum(v * (1 - d)) * 100 / sum(sum(v * (1 - d))) OVER (), round(sum(v * d) / nullif(sum(sum(v * d * d)) OVER (), 0), 4), sum(v * d * t) / sum(sum(v * v)) OVER (PARTITION BY sensor % 3) AS share
		 FROM (SELECT sensor, value::numeric(15,2) AS v, (part / 90.0)::numeric(15,2) AS d, nullif(part * 0.01, 0.07)::numeric(15,2) AS t FROM measure) x GROUP BY sensor ORDER BY share, sensor`,
		"SELECT value / 3, count(*) FROM measure GROUP BY 1 ORDER BY 1",
		"SELECT part::text::numeric, round(part::text::numeric, 10) FROM measure GROUP BY part::text::numeric ORDER BY 1",
		"SELECT m.id, NULLIF(m.id, 2.5) / 7, NULLIF(m.id, value) / 7, NULLIF('3', part) / 2, NULLIF(part, 3::float8) / 2, NULLIF(kind::char(4), kind || 'x') || '.' FROM measure m JOIN sensor s ON s.id = sensor ORDER BY m.id",
		"SELECT sensor, stddev(value) / avg(value), round(stddev_pop(part), 2), variance(value) + 1, stddev(value) - stddev(part) FROM measure GROUP BY sensor ORDER BY stddev(value) DESC, sensor",
		"SELECT sensor, avg(value)::float8, (sum(value) / 7.123456789)::float8, sum(part)::float8 / count(*), (max(value) / 3)::float8 * 2, avg(value)::float8 > 250, percentile_cont(0.3) WITHIN GROUP (ORDER BY value / 3 * value / 7) FROM measure GROUP BY sensor ORDER BY sensor",
		"SELECT part, stddev(id) * 1.000, var_pop(value - value) + 0, stddev(sensor) IS NULL FROM measure WHERE id < 60 GROUP BY part ORDER BY 2, 1",
		"SELECT s, d FROM (SELECT sensor AS s, stddev(value * 2) AS d FROM measure GROUP BY sensor, part % 2) x WHERE d > 20 ORDER BY d, s",
		"SELECT sensor, coalesce(stddev(value), 0), stddev(value) / 7 FROM measure GROUP BY sensor ORDER BY sensor",
		"SELECT 1, sensor, 'x', count(*) FROM measure GROUP BY 1, sensor, 3 ORDER BY 2",
		"SELECT kind, count(*) FROM sensor WHERE kind ~ '^k[0-4].*$' AND kind <> $$k3$$ GROUP BY kind ORDER BY kind",
		"SELECT DISTINCT sensor, sensor / 3.0 FROM measure ORDER BY 2, 1",
		"SELECT sensor, value / 3 AS x FROM measure WHERE id < 9 UNION SELECT sensor, value / 3 FROM measure WHERE id < 20 ORDER BY x, sensor LIMIT 12",
		"SELECT id, rank() OVER (PARTITION BY value / 3 ORDER BY part) FROM measure ORDER BY id",
		`WITH w AS (SELECT sensor, part, sum(value) AS s, avg(sum(value)) OVER (PARTITION BY sensor) AS a, rank() OVER (PARTITION BY sensor ORDER BY part) AS r FROM measure GROUP BY sensor, part)
		 SELECT w.sensor, w.part, w.s, w.a, before.s, after.s FROM w JOIN w before USING (sensor) JOIN w after USING (sensor) WHERE w.r = before.r + 1 AND w.r = after.r - 1 ORDER BY w.sensor, w.part`,
		"SELECT kind FROM sensor s WHERE (SELECT count(*) FROM measure m WHERE m.sensor = s.id AND part < 3 OR m.sensor = s.id AND value > 400) > 2 ORDER BY kind",
		"WITH w AS (SELECT m.sensor FROM measure m JOIN sensor s ON s.id = m.sensor) SELECT count(*) FROM measure WHERE sensor IN (SELECT sensor FROM w)" + strings.Repeat(" OR id IN (SELECT sensor FROM w)", 30),
		"SELECT sensor, part % 3, sum(value), GROUPING(sensor, part % 3) FROM measure GROUP BY CUBE(sensor, part % 3) ORDER BY 4, 1, 2",
		"SELECT sensor, count(*) FROM measure WHERE id < 0 GROUP BY GROUPING SETS ((sensor), ())",
		"SELECT sensor, stddev(value), var_pop(part), sum(DISTINCT part), avg(DISTINCT value) FROM measure GROUP BY sensor ORDER BY sensor",
		"SELECT sensor FROM measure GROUP BY sensor, part HAVING variance(id) IS NULL ORDER BY 1",
		"SELECT sensor, percentile_cont(0.3) WITHIN GROUP (ORDER BY value), percentile_disc(0.9) WITHIN GROUP (ORDER BY at) FROM measure GROUP BY sensor ORDER BY sensor",
		"SELECT m.part % 4, string_agg(kind, ', ' ORDER BY sensor DESC, m.id DESC), string_agg(kind, '' ORDER BY m.sensor NULLS FIRST, m.id) FROM measure m LEFT JOIN sensor s ON s.id = sensor GROUP BY 1 ORDER BY 1",
		"SELECT part, string_agg(DISTINCT kind, NULL ORDER BY kind), string_agg(kind, '-' ORDER BY value) FILTER (WHERE value > 1000), any_value(m.part), any_value(m.sensor + m.part) FILTER (WHERE false) FROM measure m JOIN sensor s ON s.id = sensor GROUP BY part ORDER BY part",
		"SELECT id, substr(kind, NULLIF(id, 2)), substr(kind, NULLIF(id, 2), 1), substr(kind, 1, NULLIF(id, 2)), left(kind, NULLIF(id, 2)), right(kind, NULLIF(id, 2)) FROM sensor ORDER BY id",
		"SELECT part, sum(NULLIF(0.00, 0) * value), sum(3 * id), min(-2 * value) FROM measure GROUP BY part ORDER BY part",
		"SELECT id, max(1) FILTER (WHERE sensor = 7) OVER (PARTITION BY part) * 100, (min(2) FILTER (WHERE part = 3) OVER (PARTITION BY part))::bigint, coalesce(max(1) FILTER (WHERE part = 3) OVER (PARTITION BY part), 0::bigint) FROM measure ORDER BY id",
		"SELECT id, (max(3) OVER w)::numeric / 2, max(1.50) OVER w * 2, min(date '2024-02-29') OVER w + 1, max(2.5::float8) OVER w * 2 FROM measure WINDOW w AS (ORDER BY id ROWS BETWEEN 9 PRECEDING AND 3 PRECEDING) ORDER BY id",
		"SELECT id, percent_rank() OVER (PARTITION BY sensor ORDER BY part), cume_dist() OVER (PARTITION BY sensor ORDER BY part DESC ROWS 1 PRECEDING), ntile(7) OVER (PARTITION BY part ORDER BY id), percent_rank() OVER (PARTITION BY id ORDER BY id) FROM measure ORDER BY id",
		"SELECT id, part, kind FROM (SELECT id::bigint, part FROM measure) m JOIN sensor USING (id) ORDER BY id",
		"SELECT id, kind FROM (SELECT id::bigint, value FROM measure) m RIGHT JOIN (SELECT id - 3 AS id, kind FROM sensor) s USING (id) ORDER BY id",
		"SELECT id, part, kind FROM measure LEFT JOIN (SELECT id::bigint * 2 AS id, kind FROM sensor) s USING (id) ORDER BY id",
		"SELECT id, part FROM measure NATURAL JOIN (SELECT id::smallint FROM sensor) s ORDER BY id",
		"SELECT count(*) FILTER (WHERE f IN (1.5, 3, 4.25)), count(*) FILTER (WHERE f NOT IN (0.1, 2e1, NULL)), count(*) FILTER (WHERE f IN (part, 7.5)) FROM (SELECT value::float8 AS f, part FROM measure) x",
		"SELECT id, rank() OVER (ORDER BY sensor ROWS BETWEEN 3 PRECEDING AND CURRENT ROW), dense_rank() OVER (ORDER BY sensor ROWS 1 PRECEDING), row_number() OVER (ORDER BY sensor, id ROWS CURRENT ROW), lag(part) OVER (ORDER BY id ROWS 2 PRECEDING) FROM measure ORDER BY id",
		"SELECT id, lag(part, 1, 0) OVER (ORDER BY id), lead(value, 3, 99.5) OVER (PARTITION BY sensor ORDER BY id), lag(value, 2, 0) OVER (ORDER BY id), lead(at, 1, '2020-01-01') OVER (ORDER BY id) FROM measure ORDER BY id",
		"SELECT m.id, lag(kind, 1, 'none') OVER w, max(value) OVER (w ROWS 2 PRECEDING), count(*) OVER (v ROWS 1 PRECEDING), rank() OVER (u ORDER BY part) FROM measure m LEFT JOIN sensor s ON s.id = sensor WINDOW u AS (PARTITION BY sensor), w AS (u ORDER BY m.id), v AS (w) ORDER BY m.id",
		"SELECT id, sum(id) OVER (ORDER BY part RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING), count(*) OVER (ORDER BY sensor DESC RANGE 1 PRECEDING), min(value) OVER (PARTITION BY sensor ORDER BY id RANGE BETWEEN 30 PRECEDING AND 1 PRECEDING) FROM measure ORDER BY id",
		"SELECT id, count(*) OVER (ORDER BY NULLIF(part, 2) NULLS FIRST RANGE BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING), count(*) OVER (ORDER BY NULLIF(part, 2) DESC RANGE BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) FROM measure ORDER BY id",
		"SELECT id, sum(value) OVER (ORDER BY at::date RANGE BETWEEN '3 days' PRECEDING AND CURRENT ROW), avg(part) OVER (ORDER BY date_trunc('hour', at) DESC RANGE BETWEEN interval '1 day 2 hours' PRECEDING AND '90 minutes' FOLLOWING) FROM measure ORDER BY id",
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
}

// These are one statement to the engine, which runs it once for a snapshot: what is finished here tells them apart.
func TestGateway_sharesNoResultOfAnotherMeaning(t *testing.T) {
	t.Parallel()
	g := start(t, measures)
	columnar, oltp := g.routes()
	for range 2 {
		for _, aggregate := range []string{"stddev_pop", "var_pop", "stddev_samp", "var_samp"} {
			wantSameAnswer(t, columnar, oltp, "SELECT "+aggregate+"(value) FROM measure")
		}
	}
}

func TestGateway_keepsToSettingsThatChangeTheMeaning(t *testing.T) {
	t.Parallel()
	g := start(t, measures)
	columnar, oltp := g.routes()
	const sql = "SELECT count(*) FROM measure WHERE NULLIF(part, 2) = NULL"
	wantSameAnswer(t, columnar, oltp, sql)
	exec(t, oltp, "SET transform_null_equals = on")
	exec(t, columnar, "SET transform_null_equals = on")
	_, err := columnar.Exec(t.Context(), sql)
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || !strings.Contains(refused.Message, "transform_null_equals") {
		t.Errorf("the columnar route answers %s under transform_null_equals: %v", sql, err)
	}
	exec(t, columnar, "SET freshet.route = auto")
	wantSameAnswer(t, columnar, oltp, sql)
}

// What a database defines for the very types of its columns goes before what PostgreSQL has for others.
func TestGateway_leavesToPostgreSQLWhatTheDatabaseDefines(t *testing.T) {
	t.Parallel()
	g := start(t, measures, `
		CREATE TABLE word (id int PRIMARY KEY, v varchar(9) COLLATE "C", n numeric(6,2));
		INSERT INTO word VALUES (1, 'One', 1.5), (2, 'Two', 2.5)`)
	columnar, oltp := g.routes()
	auto, direct := g.client(), g.connect(g.oltp.URL("postgres"))
	statements := []string{
		"SELECT lower(v) FROM word ORDER BY id", "SELECT v || v FROM word ORDER BY id", "SELECT count(*) FROM word JOIN word o USING (v)",
		"SELECT n + 1 FROM word ORDER BY id", "SELECT id::varchar FROM word ORDER BY id", "SELECT count(*) FROM word WHERE v IN ('One', 'x')",
	}
	for _, sql := range statements {
		wantSameAnswer(t, columnar, oltp, sql)
	}
	for _, sql := range []string{
		"CREATE FUNCTION lower(varchar) RETURNS text LANGUAGE sql AS $$SELECT 'mine'::text$$",
		"CREATE FUNCTION join_words(varchar, varchar) RETURNS text LANGUAGE sql AS $$SELECT 'joined'::text$$",
		"CREATE OPERATOR || (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = join_words)",
		"CREATE FUNCTION same_word(varchar, varchar) RETURNS bool LANGUAGE sql AS $$SELECT true$$",
		"CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = same_word)",
		"CREATE FUNCTION add_one(numeric, int) RETURNS numeric LANGUAGE sql AS $$SELECT 7.0$$",
		"CREATE OPERATOR + (LEFTARG = numeric, RIGHTARG = int, FUNCTION = add_one)",
		"CREATE FUNCTION print(int) RETURNS varchar LANGUAGE sql AS $$SELECT 'printed'::varchar$$",
		"CREATE CAST (int AS varchar) WITH FUNCTION print(int)",
		// What is defined for operands of another kind changes nothing.
		"CREATE FUNCTION alike(text, text) RETURNS bool LANGUAGE sql AS $$SELECT true$$",
		"CREATE OPERATOR % (LEFTARG = text, RIGHTARG = text, FUNCTION = alike)",
	} {
		exec(t, direct, sql)
	}
	exec(t, columnar, "SET freshet.freshness = strong")
	exec(t, auto, "SET freshet.freshness = strong")
	for _, sql := range statements {
		_, err := columnar.Exec(t.Context(), sql)
		if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || !strings.Contains(refused.Message, "the database defines") {
			t.Errorf("the columnar route answers %s: %v", sql, err)
		}
		wantSameAnswer(t, auto, oltp, sql)
	}
	wantSameAnswer(t, columnar, oltp, "SELECT upper(v), n * 2, id % 2 FROM word ORDER BY 1")
}

// PostgreSQL computes its output before it sorts, also of the rows that LIMIT cuts off.
func TestGateway_failsWherePostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, measures)
	c := g.client()
	for _, sql := range []string{
		"SELECT id, 100 / part FROM measure ORDER BY value DESC LIMIT 3",
		"SELECT id, 100.5 / part FROM measure ORDER BY value DESC LIMIT 3 OFFSET 2",
		"SELECT id, 100 % part FROM measure ORDER BY at DESC LIMIT 3",
		"SELECT m.id, value % part FROM measure m JOIN sensor s ON s.id = m.sensor ORDER BY at DESC LIMIT 3",
		"SELECT DISTINCT ON (sensor) sensor, 100 / part FROM measure ORDER BY sensor, value DESC",
		"SELECT id, (2147483600 + part * 2) FROM measure ORDER BY part, id LIMIT 3",
		"SELECT id, value::numeric(5,3) FROM measure ORDER BY value LIMIT 3",
		"SELECT id FROM measure WHERE 100 / part <> ALL (ARRAY[NULL, 7])",
		"SELECT id FROM measure WHERE 100 / part NOT IN (NULL, 7)",
		"SELECT id FROM measure WHERE 100 / part = ANY ('{}')",
		"SELECT id FROM measure WHERE 100 / part < ALL ('{NULL,1}')",
		"SELECT id FROM measure WHERE 100 / part <> (SELECT sensor FROM measure WHERE id = 0)",
		"WITH w AS MATERIALIZED (SELECT 100 / part AS x, 0.5 AS y FROM measure) SELECT x FROM w WHERE y > 1",
		"SELECT id FROM (SELECT id, rank() OVER (PARTITION BY 100 / part ORDER BY id) AS r FROM measure) x",
		"SELECT id FROM (SELECT id FROM measure ORDER BY 100 / part) x",
		"SELECT sensor FROM (SELECT sensor, count(*) OVER (ORDER BY bit_or(100 / part)) FROM measure GROUP BY sensor) x",
		"SELECT sensor FROM measure GROUP BY sensor HAVING sum(100 / part) <> (SELECT sensor FROM measure WHERE id = 0)",
		"SELECT id FROM (SELECT id, 100 / part AS x FROM measure WHERE id < 200) m WHERE x <> (SELECT max(id) FROM sensor WHERE id < 0)",
		"SELECT sensor FROM measure GROUP BY sensor HAVING sum(100 / part) IN (SELECT id FROM sensor WHERE id < 0)",
		"SELECT sum(100 / part) FROM measure GROUP BY sensor HAVING sensor IN (SELECT id FROM sensor WHERE id = 3)",
		"SELECT sum(100 / part) FROM measure HAVING count(*) < ANY (SELECT id FROM sensor WHERE id IS NULL)",
		"SELECT bit_xor(100 / part) FROM measure GROUP BY sensor HAVING min(60) IN (83)",
		"SELECT m.id FROM measure m LEFT JOIN sensor s ON s.id = m.sensor + 1000 WHERE nullif(s.id, m.id) <= 100 / m.part",
		"SELECT s.id FROM measure m RIGHT JOIN sensor s ON m.id = s.id + 1000 WHERE NOT NOT m.id / m.part IN (SELECT id FROM sensor)",
		"SELECT s.id FROM sensor s FULL JOIN sensor r ON s.id = r.id + 5 LEFT JOIN measure m ON m.id = s.id + 1000 WHERE m.id / m.part <> m.id",
		"SELECT id FROM (SELECT s.id, 94 / m.part AS v FROM measure m RIGHT JOIN sensor s ON s.id + 1000 = m.id) x WHERE v >= 41",
		"SELECT count(*) FROM (SELECT id, 100 / part FROM measure UNION SELECT max(id)::smallint, 1 FROM sensor) m WHERE id IN (-2)",
		"SELECT sum(id) % bit_and(part - part) FROM measure OFFSET 1",
		"SELECT sum(id) / bit_and(part - part)::numeric FROM measure OFFSET 1",
		"SELECT x FROM (SELECT sensor, sum(100 / part) AS x FROM measure GROUP BY sensor) m WHERE sensor IN (SELECT id FROM sensor WHERE id = 3)",
	} {
		err := c.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, nil).Read().Err
		if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code[:2] != "22" {
			t.Errorf("%s: %v, PostgreSQL refuses it", sql, err)
		}
	}
}

// Statements at which PostgreSQL's parser, or the translation, once ended the process.
func TestGateway_survivesStatements(t *testing.T) {
	t.Parallel()
	g := start(t, measures)
	c := g.client()
	_, oltp := g.routes()
	for _, sql := range []string{
		"SELECT " + strings.Repeat("1+", 200_000) + "1 FROM measure",
		"SELECT 1 " + strings.Repeat("ISNULL ", 100_000) + "FROM measure",
		"SELECT id FROM measure WHERE " + strings.Repeat("NOT ", 3000) + "id = 0",
		"SELECT id, n FROM sensor, generate_series(1, sensor.id) n ORDER BY id, n",
		"SELECT id, n FROM sensor, generate_series(0, sensor.id * 2, 2) n ORDER BY id, n",
		"SELECT count(*) FROM sensor, generate_series(1, absent) n",
	} {
		wantSameOutcome(t, c, oltp, sql)
	}
	if got := one(t, c, "SELECT count(*) FROM sensor"); got != "10" {
		t.Errorf("after all that: %v", got)
	}
}

// A numeric without a declared scale comes from the replica as PostgreSQL's own text.
func TestGateway_writesNumericsInBinaryAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE number (id int PRIMARY KEY, n numeric, m numeric(5,-2), k numeric(3,5));
INSERT INTO number SELECT i, v, v, 0.00123 FROM unnest('{0,0.00,-1,12345.6700,0.0000000000000000000000000001,-99990000}'::numeric[]) WITH ORDINALITY AS x(v, i) WHERE abs(v) < 1e6;
INSERT INTO number SELECT 10 + i, v FROM unnest('{NaN,Infinity,-Infinity,NULL,1e40,123456789012345678901234567890.123456789012345678901234567890}'::numeric[]) WITH ORDINALITY AS x(v, i)`)
	columnar, oltp := g.routes()
	const sql = "SELECT id, n, m, k FROM number ORDER BY id"
	binary := func(c *pgx.Conn) []string {
		result := c.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, []int16{1}).Read()
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		return texts(result.Rows)
	}
	if d := cmp.Diff(binary(oltp), binary(columnar)); d != "" {
		t.Errorf("PostgreSQL's and the replica's answers differ (-want +got):\n%s", d)
	}
}

func TestGateway_writesSingleBytesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE byte (id int PRIMARY KEY, q "char");
INSERT INTO byte VALUES (1, ''), (2, '\303'), (3, 'a'), (4, '\200'), (5, NULL), (6, ' '), (7, '\377')`)
	columnar, oltp := g.routes()
	wantSameAnswer(t, columnar, oltp, "SELECT id, q FROM byte ORDER BY id")
}
