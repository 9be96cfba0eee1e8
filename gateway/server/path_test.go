package server_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A schema comes into effect in a session's search path when another session grants its use. What the gateway asks must mean the same then.
func TestGateway_readsNoTableByOperatorsOfTheUsersOwn(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE t1 (x int PRIMARY KEY); INSERT INTO t1 VALUES (1), (2); CREATE TABLE secret (id int PRIMARY KEY, ssn text); INSERT INTO secret VALUES (1, 'hidden')",
		`CREATE ROLE owner; ALTER TABLE t1 OWNER TO owner; ALTER TABLE secret OWNER TO owner; CREATE VIEW v AS SELECT * FROM t1; ALTER VIEW v OWNER TO owner;
		CREATE ROLE mallory LOGIN PASSWORD 'm'; GRANT SELECT ON v TO mallory; CREATE SCHEMA evil AUTHORIZATION mallory`)
	mallory := url.UserPassword("mallory", "m")
	a, b := g.clientOf(mallory), g.clientOf(mallory)
	exec(t, b, "SET freshet.route = oltp")
	exec(t, b, fmt.Sprintf(`CREATE FUNCTION evil.eq(oid, int) RETURNS bool LANGUAGE sql IMMUTABLE AS
		'SELECT $1::pg_catalog.int8 OPERATOR(pg_catalog.=) $2 OR $1 OPERATOR(pg_catalog.=) %s AND $2 OPERATOR(pg_catalog.=) %s';
		CREATE OPERATOR evil.= (LEFTARG = oid, RIGHTARG = int, FUNCTION = evil.eq)`,
		one(t, b, "SELECT 'secret'::regclass::oid"), one(t, b, "SELECT 't1'::regclass::oid")))
	exec(t, a, "SET freshet.freshness = strong") // so that each statement is checked
	for range 5 {
		exec(t, b, "REVOKE USAGE ON SCHEMA evil FROM mallory")
		exec(t, a, "SET search_path = evil, pg_catalog, public")
		if got := one(t, a, "SELECT count(*) FROM v"); got != "2" {
			t.Fatalf("the view has %s rows", got)
		}
		exec(t, b, "GRANT USAGE ON SCHEMA evil TO mallory")
		if _, err := a.Exec(t.Context(), "SELECT s.id, s.ssn FROM v, secret s", pgx.QueryExecModeSimpleProtocol); !refusedWith(err, "42501") {
			t.Fatalf("the table that is another's: %v on route %s, want 42501", err, one(t, a, "SHOW freshet.last_route"))
		}
	}
	exec(t, b, "DROP OPERATOR evil.= (oid, int); DROP FUNCTION evil.eq")
	exec(t, a, "SET search_path = evil, public")
	_ = one(t, a, "SELECT count(*) FROM v")
	if r := one(t, a, "SHOW freshet.last_route"); r != "columnar" {
		t.Errorf("the view is read by route %s: %s", r, one(t, a, "SHOW freshet.last_reason"))
	}
}

// What one session is told of effects that no statement's text tells, the others rely on.
func TestGateway_hidesNoWritesByOperatorsOfAUsersOwn(t *testing.T) {
	t.Parallel()
	g := start(t, accounts, `CREATE FUNCTION log(text) RETURNS int LANGUAGE sql AS 'UPDATE account SET balance = balance + 1 WHERE id = 1 RETURNING id';
CREATE VIEW chores AS SELECT log('x'); CREATE ROLE mallory LOGIN PASSWORD 'm'; CREATE SCHEMA evil AUTHORIZATION mallory; GRANT SELECT ON account TO mallory`)
	c, oltp, direct := g.client(), g.client(), g.connect(g.oltp.URL("postgres"))
	exec(t, oltp, "SET freshet.route = oltp")
	exec(t, direct, `SET ROLE mallory; CREATE FUNCTION evil.never(oid, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT false';
CREATE OPERATOR evil.>= (LEFTARG = oid, RIGHTARG = int, FUNCTION = evil.never)`)
	mallory := g.clientOf(url.UserPassword("mallory", "m"))
	exec(t, mallory, "SET search_path = evil, pg_catalog, public")
	for _, sql := range []string{"SELECT 1", "BEGIN READ ONLY", "SELECT count(*) FROM account", "COMMIT"} {
		_ = query(t, mallory, sql)
	}
	for range 8 { // one time the replica is fast enough
		_ = query(t, c, "SELECT * FROM chores")
		wantSameAnswer(t, c, oltp, "SELECT sum(balance) FROM account")
	}
}
