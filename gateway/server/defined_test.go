package server_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const domains = `CREATE DOMAIN dom AS int; CREATE DOMAIN dtext AS text COLLATE "C"; CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE dt (id int PRIMARY KEY, d dom, t dtext, m mood, v varchar(9) COLLATE "C"); INSERT INTO dt VALUES (1, 1, 'Abc', 'sad', 'a'), (2, 2, 'dEf', 'happy', 'b'), (3, 3, NULL, 'sad', NULL)`

// What a database defines for its domains and enumerations goes before what PostgreSQL has for what they are made of.
func TestGateway_leavesToPostgreSQLWhatIsDefinedForDomainsAndEnumerations(t *testing.T) {
	t.Parallel()
	g := start(t, domains)
	columnar, oltp := g.routes()
	auto, direct := g.client(), g.connect(g.oltp.URL("postgres"))
	exec(t, columnar, "SET freshet.freshness = strong")
	exec(t, auto, "SET freshet.freshness = strong")
	for _, c := range []struct {
		define, undo string
		statements   []string
	}{
		{"CREATE FUNCTION same(dom, int) RETURNS bool LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = dom, RIGHTARG = int, FUNCTION = same)", "DROP OPERATOR = (dom, int)", []string{
			"SELECT count(*) FROM dt WHERE d = 1", "SELECT count(*) FROM dt WHERE d IN (1, 2)", "SELECT count(CASE d WHEN 2 THEN 1 END) FROM dt",
			"SELECT count(*) FROM dt WHERE d IN (SELECT id FROM dt WHERE id < 2)", "SELECT count(*) FROM dt WHERE d IS DISTINCT FROM 1",
		}},
		{"CREATE FUNCTION plus(dom, int) RETURNS int LANGUAGE sql AS 'SELECT 99'; CREATE OPERATOR + (LEFTARG = dom, RIGHTARG = int, FUNCTION = plus)", "DROP OPERATOR + (dom, int)", []string{
			"SELECT max(d + 1) FROM dt",
		}},
		{"CREATE FUNCTION lower(dtext) RETURNS text LANGUAGE sql AS $$SELECT 'mine'::text$$", "DROP FUNCTION lower(dtext)", []string{"SELECT max(lower(t) COLLATE \"C\") FROM dt"}},
		{"CREATE FUNCTION first(int, dom) RETURNS int LANGUAGE sql AS 'SELECT coalesce($1, $2::int)'; CREATE AGGREGATE max(dom) (SFUNC = first, STYPE = int)", "DROP AGGREGATE max(dom)", []string{"SELECT max(d) FROM dt"}},
		{"CREATE FUNCTION moodtext(mood) RETURNS text LANGUAGE sql AS $$SELECT 'cast'::text$$; CREATE CAST (mood AS text) WITH FUNCTION moodtext(mood)", "DROP CAST (mood AS text)", []string{
			"SELECT m::text, count(*) FROM dt GROUP BY 1 ORDER BY 1", "SELECT count(DISTINCT m || 'x'::text) FROM dt",
		}},
		{"CREATE FUNCTION same(mood, mood) RETURNS bool LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = mood, RIGHTARG = mood, FUNCTION = same)", "DROP OPERATOR = (mood, mood)", []string{
			"SELECT count(*) FROM dt WHERE m = 'sad'", "SELECT count(*) FROM dt WHERE m IN ('sad', 'ok')", "SELECT count(*) FROM dt JOIN dt o USING (m)", "SELECT count(CASE m WHEN 'sad' THEN 1 END) FROM dt",
			"SELECT count(*) FROM dt WHERE m IN (SELECT m FROM dt WHERE id = 1)",
		}},
		{"CREATE FUNCTION same(mood, text) RETURNS bool LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = mood, RIGHTARG = text, FUNCTION = same)", "DROP OPERATOR = (mood, text)", []string{
			"SELECT count(*) FROM dt WHERE m = 'sad'",
		}},
		{"CREATE FUNCTION same(varchar, int) RETURNS bool LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = varchar, RIGHTARG = int, FUNCTION = same)", "DROP OPERATOR = (varchar, int)", []string{
			"SELECT count(*) FROM dt WHERE v = '7'",
		}},
	} {
		for _, sql := range c.statements {
			wantSameAnswer(t, columnar, oltp, sql)
		}
		exec(t, direct, c.define)
		for _, sql := range c.statements {
			_, err := columnar.Exec(t.Context(), sql)
			if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || !strings.Contains(refused.Message, "the database defines") {
				t.Errorf("after %s the columnar route answers %s: %v", c.define, sql, err)
			}
			wantSameAnswer(t, auto, oltp, sql)
		}
		exec(t, direct, c.undo)
	}
}

// What extensions define for types of their own, and casts that do what PostgreSQL does without, keep no statement from the replica.
func TestGateway_answersBesideTypesThatOthersDefine(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, domains, `CREATE TYPE word; CREATE FUNCTION wordin(cstring) RETURNS word IMMUTABLE STRICT LANGUAGE internal AS 'textin';
		CREATE FUNCTION wordout(word) RETURNS cstring IMMUTABLE STRICT LANGUAGE internal AS 'textout';
		CREATE TYPE word (INPUT = wordin, OUTPUT = wordout, LIKE = text, CATEGORY = 'S'); CREATE CAST (word AS text) WITHOUT FUNCTION AS IMPLICIT;
		CREATE FUNCTION same(word, word) RETURNS bool LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = word, RIGHTARG = word, FUNCTION = same);
		CREATE FUNCTION same(word, text) RETURNS bool LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = word, RIGHTARG = text, FUNCTION = same);
		CREATE FUNCTION joined(word, word) RETURNS word LANGUAGE sql AS 'SELECT $1'; CREATE OPERATOR || (LEFTARG = word, RIGHTARG = word, FUNCTION = joined);
		CREATE FUNCTION lower(word) RETURNS text LANGUAGE sql AS $$SELECT 'mine'::text$$; CREATE AGGREGATE max(word) (SFUNC = joined, STYPE = word);
		CREATE FUNCTION array_to_string(word[], text) RETURNS text LANGUAGE sql AS $$SELECT 'mine'::text$$; CREATE FUNCTION length(dt) RETURNS int LANGUAGE sql AS 'SELECT 1';
		CREATE CAST (varchar AS mood) WITH INOUT AS IMPLICIT; CREATE CAST (mood AS varchar) WITH INOUT AS ASSIGNMENT;
		CREATE FUNCTION same(int, text) RETURNS bool LANGUAGE sql AS 'SELECT true'; CREATE OPERATOR = (LEFTARG = int, RIGHTARG = text, FUNCTION = same)`).routes()
	for _, sql := range []string{
		"SELECT count(*), max(d), max(lower(v)), max(length(t)) FROM dt WHERE t = 'Abc' AND m = 'sad' AND d = 1", "SELECT m::text, v || 'x', d + 1 FROM dt ORDER BY id",
		"SELECT count(*) FROM dt a JOIN dt b USING (m) WHERE a.v = 'a' AND a.d::int = '1'",
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
}

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
