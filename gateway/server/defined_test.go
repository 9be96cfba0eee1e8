package server_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// A view's query is printed without the operator by which CASE, IS DISTINCT FROM, NULLIF and JOIN USING compare. It was looked up when the view was made.
func TestGateway_leavesToPostgreSQLWhatAViewComparesBy(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE SCHEMA own; CREATE TABLE nt (id int PRIMARY KEY, n numeric(10,2)); INSERT INTO nt VALUES (1, 1), (2, 2), (3, NULL);
		CREATE FUNCTION own.other(numeric, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 <> $2::numeric';
		CREATE OPERATOR own.= (LEFTARG = numeric, RIGHTARG = int, FUNCTION = own.other);
		CREATE FUNCTION own.all(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT true';
		CREATE OPERATOR own.= (LEFTARG = int, RIGHTARG = int, FUNCTION = own.all);
		SET search_path = own, public, pg_catalog;
		CREATE VIEW public.chosen AS SELECT id, CASE n WHEN 1 THEN 'one' ELSE 'other' END AS c FROM nt;
		CREATE VIEW public.distinguished AS SELECT id, n IS DISTINCT FROM 1 AS d FROM nt;
		CREATE VIEW public.emptied AS SELECT id, NULLIF(n, 1) AS e FROM nt;
		CREATE VIEW public.joined AS SELECT a.n AS n, b.n AS m FROM nt a JOIN nt b USING (id);
		RESET search_path; CREATE VIEW plain AS SELECT id, n + 1 AS n FROM nt WHERE n = 1.0`)
	columnar, oltp := g.routes()
	auto := g.client()
	for _, sql := range []string{
		"SELECT * FROM chosen ORDER BY id", "SELECT * FROM distinguished ORDER BY id", "SELECT * FROM emptied ORDER BY id", "SELECT count(*) FROM joined",
	} {
		wantSameAnswer(t, auto, oltp, sql)
		if _, err := columnar.Exec(t.Context(), sql); !refusedWith(err, "0A000") {
			t.Errorf("the columnar route answers %s: %v", sql, err)
		}
	}
	// What is not in the search path and not hidden in a view changes nothing.
	wantSameAnswer(t, columnar, oltp, "SELECT CASE n WHEN 2 THEN id END, NULLIF(n, 2) FROM plain WHERE id = 1 ORDER BY 1")
}

// PostgreSQL asks who queries a view for the right to the functions that it calls.
func TestGateway_checksTheRightToCallFunctionsOfViews(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item VALUES (1, 'Ann'), (2, 'Bob')",
		`CREATE VIEW lowered AS SELECT lower(name) AS v FROM item; CREATE VIEW product AS SELECT id * id AS v FROM item;
		CREATE VIEW total AS SELECT sum(id) AS v FROM item; CREATE VIEW same AS SELECT CASE name WHEN 'Ann' THEN 1 END AS v FROM item;
		CREATE VIEW nested AS SELECT left(v, 1) AS v FROM lowered;
		CREATE ROLE clerk LOGIN PASSWORD 'clerk'; GRANT SELECT ON item, lowered, product, total, same, nested TO clerk`)
	admin, c := g.client(), g.client()
	exec(t, c, "SET ROLE clerk")
	exec(t, c, "SET freshet.freshness = strong")
	for function, sql := range map[string]string{
		"lower(text)":                   "SELECT max(length(v)) FROM lowered",
		"pg_catalog.int4mul(int4,int4)": "SELECT max(v) FROM product",
		"pg_catalog.sum(int4)":          "SELECT v FROM total",
		"pg_catalog.texteq(text,text)":  "SELECT max(v) FROM same",
		"left(text,int4)":               "SELECT count(DISTINCT v) FROM nested",
		"pg_catalog.int48pl(int4,int8)": "SELECT max(id OPERATOR(pg_catalog.+) 1::int8) FROM item",
	} {
		exec(t, admin, "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog TO PUBLIC")
		one(t, c, sql)
		if got := one(t, c, "SHOW freshet.last_route"); got != "columnar" {
			t.Errorf("%s took route %s: %s", sql, got, one(t, c, "SHOW freshet.last_reason"))
		}
		exec(t, admin, "REVOKE EXECUTE ON FUNCTION "+function+" FROM PUBLIC")
		if _, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); !refusedWith(err, "42501") {
			t.Errorf("%s after the revoke: %v, want 42501", sql, err)
		}
	}
}
