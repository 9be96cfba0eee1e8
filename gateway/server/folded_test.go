package server_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// PostgreSQL computes what reads no column as it plans, and refuses the statement there, whether or not a row needs the value.
func TestGateway_keepsErrorsOfWhatReadsNoColumn(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	oltp, auto := g.connect(g.oltp.URL("postgres")), g.client()
	for _, value := range []string{
		"'abc'::text::int", "'99999'::text::smallint", "'abc'::text::numeric", "'abc'::text::boolean", "('a' || 'b')::bigint", "upper('a')::int", "'x'::varchar::int",
		"md5('x')::int", "sqrt(-1.0::float8)", "1e10::float8::int", "ascii('') / ascii('')", "floor(1.5) / floor(0.5)", "date_part('day', '2024-01-01'::date) / 0",
		"to_timestamp(1e20)", "abs(-2147483648)", "extract(epoch FROM '2024-01-01'::date)::smallint", "substr('abc', 1, -1)", "(1e9 * 9.5)::int", "mod(7, abs(0))",
		"'2024-01-01'::date + 99999999", "'2024-01-01'::timestamp + interval '1 year' * 1000000", "make_date(2024, 13, 1)",
		"coalesce('abc', branch::text)::int", "(CASE WHEN 1 = 1 THEN 'abc' ELSE branch::text END)::int", "coalesce(nullif(NULL, branch)::text, 'abc')::int",
	} {
		for _, sql := range []string{
			"SELECT CASE WHEN branch > 100 THEN ($1) END FROM account WHERE id < 4",
			"SELECT count(*) FROM account WHERE branch > 100 AND ($1) IS NOT NULL",
			"SELECT ($1), id FROM account WHERE branch > 100",
			"SELECT count(*) FILTER (WHERE branch > 100 AND ($1) IS NULL) FROM account",
			"SELECT id FROM account WHERE branch > 100 UNION ALL SELECT CASE WHEN id > 10000 THEN length(($1)::text) END FROM account WHERE id < 4 ORDER BY 1",
			"SELECT branch, count(*) FROM account WHERE branch > 100 GROUP BY branch HAVING count(*) > 0 AND ($1) IS NOT NULL ORDER BY branch",
			"SELECT id FROM account a WHERE id < 4 AND EXISTS (SELECT 1 FROM account b WHERE b.id = a.id AND b.branch > 100 AND ($1) IS NULL) ORDER BY id",
			"SELECT DISTINCT ON (branch) branch, id FROM account WHERE branch > 100 AND ($1) IS NOT NULL ORDER BY branch, id",
			"SELECT id FROM account WHERE id < 4 ORDER BY CASE WHEN branch > 100 THEN ($1) END, id LIMIT 2",
		} {
			wantSameOutcome(t, auto, oltp, strings.ReplaceAll(sql, "$1", value))
		}
	}
	exec(t, auto, "SET freshet.route = columnar")
	for _, sql := range []string{ // what is sure to be a value stays on the replica
		"SELECT coalesce(branch, '12'::text::int), CASE WHEN id < 3 THEN '2.50'::text::numeric END, sqrt(2.0::float8) * pi() / 180, 'off'::text::boolean, current_date - 30 FROM account WHERE id < 4 ORDER BY id",
		"SELECT count(*) FROM account WHERE branch > '-3'::varchar::smallint AND id < 7 / (2 + 1)",
		"SELECT id, abs(-4), substr('abc', 0, 3) || id, extract(year FROM '2024-02-29'::date)::int - id, (12.34 * 2)::int FROM account WHERE id < abs(-5) ORDER BY id",
		"SELECT branch % abs(-4) AS k, count(*) FROM account GROUP BY 1 HAVING count(*) > mod(7, abs(-4)) ORDER BY 1",
		"SELECT DISTINCT branch % abs(-4) FROM account ORDER BY 1 LIMIT 3",
	} {
		wantSameOutcome(t, auto, oltp, sql)
	}
	r := auto.PgConn().ExecParams(t.Context(), "SELECT count(*) FROM account WHERE branch < $1::int", [][]byte{[]byte("5")}, []uint32{1043}, nil, nil).Read()
	if r.Err != nil || string(r.Rows[0][0]) != "500" {
		t.Errorf("a text as a parameter that is cast: %v, %v", r.Rows, r.Err)
	}
}

// A choice that PostgreSQL decides as it plans has the type modifier of what is chosen.
func TestGateway_describesWhatPostgreSQLSimplifies(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE item (id int PRIMARY KEY, n numeric(8,2), v varchar(9), c char(4)); INSERT INTO item VALUES (1, 2.5, 'a', 'b')")
	oltp, auto := g.connect(g.oltp.URL("postgres")), g.client()
	for _, column := range []string{"n", "v", "c", "id"} {
		for _, value := range []string{
			"coalesce($, NULL)", "coalesce(NULL, $)", "CASE WHEN true THEN $ END", "CASE WHEN 1 = 2 THEN NULL ELSE $ END", "CASE 1 WHEN 1 THEN $ END", "CASE WHEN id > 3 OR 1 = 1 THEN $ ELSE NULL END",
			"coalesce($, $)", "CASE WHEN id > 0 THEN $ ELSE $ END", "max(coalesce($, NULL))", "nullif($, NULL)", "CASE WHEN id IS NULL THEN NULL ELSE $ END",
			"coalesce('1'::numeric(6,3), n)", "coalesce(n, '1'::numeric(8,2) * 1, id)", "coalesce(n, '1'::numeric(8,2), id)", "coalesce('a'::varchar(3), v, 'b')", "coalesce((SELECT max(n) FROM item), 0)",
		} {
			wantSameDescription(t, auto, oltp, "SELECT "+strings.ReplaceAll(value, "$", column)+" FROM item")
		}
	}
	exec(t, auto, "SET freshet.route = columnar")
	exec(t, auto, "SELECT max(coalesce(n, NULL)), sum(CASE WHEN true THEN n END) FROM item")
}

// An INTERSECT or EXCEPT has the type modifiers of its left arm, a UNION those that both arms have once they are simplified.
func TestGateway_describesSetOperationsAsPostgreSQLPlansThem(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE item (id int PRIMARY KEY, n numeric(8,2), v varchar(9), w varchar(7), c char(4), at timestamp(3), z timestamptz, name text);
INSERT INTO item VALUES (1, 2.5, 'a', 'b', 'b', '2024-01-01', '2024-01-01', 'a')`)
	oltp, auto := g.connect(g.oltp.URL("postgres")), g.client()
	for _, columns := range [][2]string{
		{"v", "w"}, {"v", "v"}, {"v", "name"}, {"name", "v"}, {"v", "'x'"}, {"v", "v || ''"}, {"v", "NULL"}, {"NULL::varchar(3)", "v"}, {"'x'::varchar(3)", "'y'::varchar"}, {"c", "c"}, {"c", "NULL"},
		{"n", "n"}, {"n", "n + 1"}, {"n", "id"}, {"id", "n"}, {"coalesce(NULL, n)", "n"}, {"CASE WHEN true THEN n ELSE 1 END", "n"}, {"coalesce(NULL, v)", "v"}, {"v", "coalesce(v, w)"}, {"coalesce(v, w)", "v"},
		{"at", "z::timestamp"}, {"z", "at"}, {"z", "z + interval '1 day'"}, {"z::timestamptz(0)", "z"}, {"at", "date_trunc('day', at)"}, {"date_trunc('day', z)", "z"},
	} {
		for _, operation := range []string{"UNION", "UNION ALL", "INTERSECT", "INTERSECT ALL", "EXCEPT", "EXCEPT ALL"} {
			sql := "SELECT " + columns[0] + " AS x FROM item " + operation + " SELECT " + columns[1] + " FROM item"
			wantSameDescription(t, auto, oltp, sql)
			wantSameDescription(t, auto, oltp, "SELECT * FROM ("+sql+") s")
			wantSameDescription(t, auto, oltp, "("+sql+") "+operation+" SELECT "+columns[0]+" FROM item")
		}
	}
	for _, empty := range []string{"false", "1 = 0", "id > 5 AND false", "current_date < '2020-01-01'"} {
		for _, operation := range []string{"UNION", "UNION ALL", "INTERSECT", "EXCEPT"} {
			wantSameDescription(t, auto, oltp, "SELECT v AS x FROM item WHERE "+empty+" "+operation+" SELECT w FROM item")
			wantSameDescription(t, auto, oltp, "SELECT w AS x FROM item "+operation+" SELECT v FROM item WHERE "+empty+" UNION ALL SELECT v FROM item WHERE false")
			wantSameDescription(t, auto, oltp, "SELECT z AS x FROM item WHERE "+empty+" "+operation+" SELECT at::timestamptz(1) FROM item")
		}
	}
	for _, arm := range []string{
		"SELECT v AS x FROM (SELECT * FROM item WHERE 1 > 2) q", "SELECT a.v AS x FROM item a JOIN item b ON a.id = b.id AND 1 > 2", "SELECT x FROM none",
		"SELECT v AS x FROM item WHERE id IN (SELECT id FROM item WHERE false)",
	} {
		wantSameDescription(t, auto, oltp, "WITH none AS (SELECT v AS x FROM item WHERE 1 > 2) "+arm+" UNION ALL SELECT w FROM item")
		wantSameDescription(t, auto, oltp, "WITH none AS (SELECT v AS x FROM item WHERE 1 > 2) SELECT w AS x FROM item UNION "+arm)
	}
	exec(t, auto, "SET freshet.route = columnar")
	for _, sql := range []string{ // of which the parser knows as much
		"SELECT v FROM item WHERE 1 = 1 AND id > 0 UNION ALL SELECT w FROM item WHERE 1 = 1",
		"SELECT v FROM item INTERSECT SELECT v FROM item", "SELECT c FROM item EXCEPT SELECT c FROM item", "SELECT z FROM item EXCEPT SELECT at::timestamptz FROM item",
		"SELECT date_trunc('day', at) FROM item INTERSECT SELECT at FROM item", "SELECT v FROM item UNION SELECT w FROM item", "SELECT name FROM item INTERSECT SELECT v FROM item",
	} {
		exec(t, auto, sql)
	}
}

// wantSameDescription compares how two sessions describe a statement's result.
func wantSameDescription(t *testing.T, gateway, postgres *pgx.Conn, sql string) {
	t.Helper()
	want := postgres.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, nil).Read().FieldDescriptions
	got := gateway.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, nil).Read().FieldDescriptions
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-PostgreSQL +gateway):\n%s", sql, diff)
	}
}

// PostgreSQL puts what a subquery yields for all of its rows in the place of its columns before it computes what reads no other.
func TestGateway_keepsErrorsOfConstantsOfSubqueries(t *testing.T) {
	t.Parallel()
	g := start(t, accounts+"; CREATE TABLE nothing (id int PRIMARY KEY)")
	oltp, auto := g.connect(g.oltp.URL("postgres")), g.client()
	for _, from := range []string{
		"(SELECT id, branch, 'abc' AS v FROM account) s", "(SELECT id, branch, v FROM (SELECT *, upper('abc') AS v FROM account) r) s",
		"(SELECT id, branch, 'abc'::text AS v FROM account UNION ALL SELECT id, id, 'def' FROM account) s",
		"account, (SELECT 'abc' AS v) s", "account, (VALUES ('abc')) s(v)", "account CROSS JOIN LATERAL (VALUES ('abc')) s(v)", "account JOIN (SELECT 'abc' AS v) s ON true",
		"account JOIN (SELECT a.id, 'abc' AS v FROM account a LEFT JOIN account b ON b.id = a.branch) s USING (id)", "(SELECT id, branch, 'abc' AS v FROM account LIMIT 9) s",
		"(SELECT id, branch, coalesce('abc', branch::text) AS v FROM account) s", "account CROSS JOIN LATERAL (SELECT coalesce('abc', branch::text) AS v) s",
		"(SELECT id, branch, (SELECT 'abc') AS v FROM account) s", "(SELECT id, branch, current_date::text AS v FROM account) s",
	} {
		for _, sql := range []string{
			"SELECT CASE WHEN branch > 1000 THEN v::int END FROM @ WHERE id < 4",
			"SELECT count(*) FROM @ WHERE branch > 1000 AND v::int = 3",
			"SELECT CASE WHEN count(*) > 10000 THEN v::int END FROM @ GROUP BY v",
			"SELECT count(*) FROM (SELECT branch, v::int AS n FROM @) q WHERE branch > 1000 AND n + 1 = 3",
		} {
			wantSameOutcome(t, auto, oltp, strings.ReplaceAll(sql, "@", from))
		}
	}
	for _, sql := range []string{ // conditions that read no row are asked before any is read
		"SELECT count(*) FROM account WHERE branch > 1000 AND 5 / (SELECT 0) > 1",
		"SELECT count(*) FROM account WHERE 5 / (id - 3) > -1 OR EXISTS (SELECT)", // one that reads no row does not spare PostgreSQL what stands before it
		"SELECT count(*) FROM account WHERE 5 / (id - 3) > -1 OR EXISTS (SELECT 1 FROM account)",
		"SELECT count(*) FILTER (WHERE 5 / (id - 3) > -1 OR EXISTS (SELECT 1 FROM account LIMIT 3)) FROM account",
		"SELECT 5 / (id - 3) > -1 AND NOT EXISTS (SELECT id FROM account WHERE id < 9 GROUP BY id) FROM account",
		"SELECT count(*) FROM account WHERE branch > 1000 AND current_date::text::int > 1",
		"SELECT branch, count(*) FROM account WHERE branch > 1000 GROUP BY branch HAVING 5 / (SELECT 0) > 1",
		"SELECT count(*) FROM account a JOIN account b ON b.id = a.id AND 5 / (SELECT 0) > 1 WHERE a.id > 100000",
		"SELECT count(*) FROM account WHERE branch > 1000 AND 5 / (SELECT max(id) * 0 FROM account) IN (1, 2)",
		"SELECT count(*) FROM account, nothing WHERE ('x' || id)::int > 3", // nor is it spared where another table is empty
		"SELECT count(*) FROM (SELECT id, (SELECT 0) AS z FROM account UNION ALL SELECT id, (SELECT 0) FROM account) s WHERE id > 100000 AND 5 / z > 1",
	} {
		wantSameOutcome(t, auto, oltp, sql)
	}
	exec(t, auto, "SET freshet.route = columnar")
	for _, sql := range []string{
		"SELECT id, 100.0 / n, n + 1, id / n, to_timestamp(1700000000) FROM (SELECT id, 7 AS n FROM account) s ORDER BY id LIMIT 5",
		"SELECT id, 100 / n FROM account JOIN (VALUES (1), (2), (3)) s(n) ON id = n ORDER BY id",
		"WITH p AS (SELECT 7 AS n, '-12'::text AS v, date '2024-01-31' AS day) SELECT id, 100 / n, v::int, abs(v::int), day + n, (day + n)::date FROM account, p WHERE id < n * 2 ORDER BY id",
		"SELECT id, v::int + 1 FROM (SELECT id, '8' AS v FROM account WHERE id < 4 UNION ALL SELECT id, '9' FROM account WHERE id = 9) s ORDER BY id",
		"SELECT v::int, count(*) FROM (SELECT id, '8'::text AS v FROM account WHERE id < 4) s GROUP BY v",
		"WITH p AS (SELECT (SELECT max(branch) FROM account) AS m) SELECT id, CASE WHEN coalesce(branch, 0) = 0 THEN 0 ELSE 100 / branch END FROM account, p WHERE branch > m / 2 AND (SELECT max(branch) FROM account) / 2 < 1000 ORDER BY id LIMIT 5",
	} {
		wantSameOutcome(t, auto, oltp, sql)
	}
}
