package server_test

import (
	"errors"
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What these queries call writes, though they name nothing but functions that only read, or none.
func TestGateway_sessionSeesWritesThatNoTextTells(t *testing.T) {
	t.Parallel()
	g := start(t, accounts, `CREATE FUNCTION log(text) RETURNS int LANGUAGE sql AS 'UPDATE account SET balance = balance + 1 WHERE id = 1 RETURNING id';
CREATE FUNCTION chore(int, int) RETURNS bool LANGUAGE sql AS 'SELECT log($1::text) = $2';
CREATE OPERATOR === (FUNCTION = chore, LEFTARG = int, RIGHTARG = int);
CREATE VIEW chores AS SELECT chore(1, 2);
CREATE FUNCTION addlog() RETURNS int LANGUAGE sql AS $$SELECT log('x')$$;
CREATE FUNCTION collect(int, int) RETURNS int LANGUAGE sql AS 'SELECT log($1::text)';
CREATE AGGREGATE collected(int) (SFUNC = collect, STYPE = int, INITCOND = '0');
CREATE VIEW collection AS SELECT collected(1)`)
	c, oltp := g.client(), g.client()
	exec(t, oltp, "SET freshet.route = oltp")
	for _, statements := range [][]string{
		{"SELECT log('x')"},
		{"SELECT * FROM chores"},
		{"SELECT * FROM collection"},
		{"SELECT 1 === 2"},
		{"BEGIN", "DECLARE x CURSOR FOR SELECT addlog()", "FETCH ALL x", "COMMIT"},
		{"VALUES (1 === 1)"},
		{"BEGIN", "DECLARE x CURSOR FOR SELECT log('x')", "FETCH x", "COMMIT"},
		{"BEGIN", "DECLARE x CURSOR WITH HOLD FOR SELECT * FROM chores", "COMMIT", "CLOSE x"},
	} {
		for range 8 { // one time the replica is fast enough
			for _, sql := range statements {
				_ = query(t, c, sql)
			}
			wantSameAnswer(t, c, oltp, "SELECT sum(balance) FROM account")
		}
		if r := one(t, c, "SHOW freshet.last_route"); r != "columnar" {
			t.Errorf("after %v the last route is %q: %s", statements, r, one(t, c, "SHOW freshet.last_reason"))
		}
	}
}

// A function that is declared to be stable may call another, which writes.
func TestGateway_sessionSeesWritesBehindAStableFunction(t *testing.T) {
	t.Parallel()
	g := start(t, accounts, `CREATE FUNCTION addone() RETURNS int LANGUAGE sql AS 'UPDATE account SET balance = balance + 1 WHERE id = 1 RETURNING id';
CREATE FUNCTION quiet() RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN addone(); END'; CREATE VIEW chores AS SELECT quiet()`)
	c, oltp := g.client(), g.client()
	exec(t, oltp, "SET freshet.route = oltp")
	for range 16 { // one time the replica is fast enough
		_ = query(t, c, "SELECT * FROM chores")
		wantSameAnswer(t, c, oltp, "SELECT sum(balance) FROM account")
	}
}

// A function that is declared to be stable may change the session's settings, and its role.
func TestGateway_noticesSettingsThatAStableFunctionChanges(t *testing.T) {
	t.Parallel()
	g := start(t, accounts, `CREATE ROLE outsider; CREATE ROLE clerk LOGIN PASSWORD 'clerk'; GRANT outsider TO clerk; GRANT SELECT ON account TO clerk;
CREATE FUNCTION sneak(name text, value text) RETURNS text LANGUAGE plpgsql STABLE AS 'BEGIN RETURN set_config(name, value, false); END';
CREATE VIEW away AS SELECT sneak('role', 'outsider'); CREATE VIEW nulls AS SELECT sneak('transform_null_equals', 'on'); GRANT SELECT ON away, nulls TO PUBLIC`)
	for range 3 {
		c := g.clientOf(url.UserPassword("clerk", "clerk"))
		const sql = "SELECT count(*) FROM account WHERE balance = NULL"
		if got := one(t, c, sql); got != "0" {
			t.Errorf("count is %s", got)
		}
		if r := one(t, c, "SHOW freshet.last_route"); r != "columnar" {
			t.Errorf("the route is %q: %s", r, one(t, c, "SHOW freshet.last_reason"))
		}
		_ = one(t, c, "SELECT * FROM nulls")
		_ = one(t, c, sql)
		if r := one(t, c, "SHOW freshet.last_route"); r != "oltp" {
			t.Errorf("the route is %q with transform_null_equals", r)
		}
		exec(t, c, "RESET ALL")
		_ = one(t, c, sql)
		_ = one(t, c, "SELECT * FROM away")
		if _, err := c.Exec(t.Context(), sql); !refusedWith(err, "42501") {
			t.Errorf("as a role without the right to read: %v, want 42501", err)
		}
	}
}

// Whom a trigger makes of a session its statement does not tell. What another user may read it must not be taken for allowed to read.
func TestGateway_answersNobodyByWhatAnotherRoleMayRead(t *testing.T) {
	t.Parallel()
	g := start(t, accounts, `CREATE ROLE reader; GRANT SELECT ON account TO reader;
CREATE ROLE clerk LOGIN PASSWORD 'clerk'; GRANT reader TO clerk WITH INHERIT FALSE, SET TRUE;
CREATE TABLE note (id int PRIMARY KEY); GRANT SELECT, INSERT ON note TO clerk, reader;
CREATE FUNCTION promote() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM set_config('role', 'reader', false); RETURN NEW; END$$;
CREATE TRIGGER promote BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION promote()`)
	promoted, other := g.clientOf(url.UserPassword("clerk", "clerk")), g.clientOf(url.UserPassword("clerk", "clerk"))
	const sql = "SELECT sum(balance) FROM account"
	for i := range 5 {
		exec(t, promoted, "RESET ROLE")
		_ = one(t, promoted, "SELECT count(*) FROM note")
		exec(t, promoted, fmt.Sprintf("INSERT INTO note VALUES (%d)", i))
		if got := one(t, promoted, sql); got != "100000" {
			t.Errorf("the sum is %s", got)
		}
		if _, err := other.Exec(t.Context(), sql); !refusedWith(err, "42501") {
			t.Fatalf("another session of the user: %v, want 42501", err)
		}
	}
}

// What PostgreSQL ran in a READ COMMITTED block may have shown newer data than the block's snapshot has.
func TestGateway_readCommittedBlockDoesNotGoBackInTime(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c, writer := g.client(), g.client()
	for range 5 {
		exec(t, c, "BEGIN READ ONLY")
		_ = one(t, c, "SELECT sum(balance) FROM account")
		exec(t, writer, "UPDATE account SET balance = balance + 1")
		want := one(t, c, "SELECT sum(b) FROM (SELECT unnest(array_agg(balance)) AS b FROM account) x")
		if r := one(t, c, "SHOW freshet.last_route"); r != "oltp" {
			t.Fatalf("the replica unnests: the route is %q", r)
		}
		if got := one(t, c, "SELECT sum(balance) FROM account"); got != want {
			t.Errorf("the sum was %s, and is %s", want, got)
		}
		exec(t, c, "COMMIT")
	}
}

// A transaction that may have written is PostgreSQL's, whatever it becomes afterwards.
func TestGateway_readsItsTransactionsOwnWritesOnceItIsReadOnly(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c := g.client()
	for _, readOnly := range [][]string{
		{"SET TRANSACTION READ ONLY"}, {"SET transaction_read_only = on"}, {"SELECT set_config('transaction_read_only', 'on', true)"},
		{"BEGIN READ ONLY"}, {"SAVEPOINT s", "SET LOCAL transaction_read_only = on"},
	} {
		exec(t, c, "BEGIN")
		exec(t, c, "UPDATE account SET balance = 0 WHERE id <= 10")
		for _, sql := range readOnly {
			exec(t, c, sql)
		}
		if got := one(t, c, "SELECT sum(balance) FROM account"); got != "99000" {
			t.Errorf("after %v the sum is %s, want 99000", readOnly, got)
		}
		exec(t, c, "ROLLBACK")
	}
}

func TestGateway_readOnlyTransactionKeepsItsSnapshot(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c, writer := g.client(), g.client()
	for _, statements := range [][]string{
		{"BEGIN READ ONLY"}, {"START TRANSACTION READ ONLY"}, {"SAVEPOINT s", "ROLLBACK\nTO s"}, {"SAVEPOINT s", "ROLLBACK /* a */ TO SAVEPOINT s"},
	} {
		exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
		before := one(t, c, "SELECT sum(balance) FROM account")
		for _, sql := range statements {
			exec(t, c, sql)
			exec(t, writer, "UPDATE account SET balance = balance + 1")
			_ = one(t, writer, "SELECT sum(balance) FROM account") // the replica has it
			if after := one(t, c, "SELECT sum(balance) FROM account"); after != before {
				t.Errorf("the transaction saw %s, and %s after %q", before, after, sql)
			}
		}
		exec(t, c, "COMMIT")
	}
}

func TestGateway_preparedStatementKeepsItsColumns(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c, other := g.client(), g.client()
	exec(t, c, "SET freshet.freshness = strong") // otherwise it may answer from before the change
	const sql = "SELECT * FROM account WHERE branch = 3 ORDER BY id"
	run := func(name string) error {
		return c.PgConn().ExecPrepared(t.Context(), name, nil, nil, nil).Read().Err
	}
	prepare := func(name string) {
		if _, err := c.PgConn().Prepare(t.Context(), name, sql, nil); err != nil {
			t.Fatal(err)
		}
		if err := run(name); err != nil {
			t.Fatal(err)
		}
	}
	prepare("narrow")
	exec(t, other, "ALTER TABLE account ADD COLUMN note text")
	prepare("wide")
	for range 3 {
		if err := run("narrow"); !refusedWith(err, "0A000") {
			t.Errorf("the statement of three columns: %v, want 0A000", err)
		}
		if err := run("wide"); err != nil {
			t.Error(err)
		}
	}
}

func TestGateway_checksTheRightToUseASchema(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE SCHEMA shop; CREATE TABLE shop.item (id int PRIMARY KEY); INSERT INTO shop.item VALUES (1), (2)",
		"CREATE ROLE clerk LOGIN PASSWORD 'clerk'; GRANT USAGE ON SCHEMA shop TO clerk; GRANT SELECT ON shop.item TO clerk")
	admin, c := g.client(), g.client()
	exec(t, c, "SET ROLE clerk")
	exec(t, c, "SET freshet.freshness = strong")
	const sql = "SELECT count(*) FROM shop.item"
	if got := one(t, c, sql); got != "2" {
		t.Errorf("count is %s", got)
	}
	exec(t, admin, "REVOKE USAGE ON SCHEMA shop FROM clerk")
	if _, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); !refusedWith(err, "42501") {
		t.Errorf("after the revoke: %v, want 42501", err)
	}
}

func TestGateway_checksTheRightToCallFunctions(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE item (id int PRIMARY KEY, name text); INSERT INTO item VALUES (1, 'Ann'), (2, 'Bob')",
		"CREATE ROLE clerk LOGIN PASSWORD 'clerk'; GRANT SELECT ON item TO clerk")
	admin, c := g.client(), g.client()
	exec(t, c, "SET ROLE clerk")
	exec(t, c, "SET freshet.freshness = strong")
	for function, sql := range map[string]string{
		"lower(text)":                   "SELECT max(lower(name)) FROM item",
		"pg_catalog.length(text)":       "SELECT max(pg_catalog.length(name)) FROM item",
		"pg_catalog.int4mul(int4,int4)": "SELECT max(id * id) FROM item",
		"pg_catalog.sum(int4)":          "SELECT sum(id) FROM item",
	} {
		one(t, c, sql)
		if got := one(t, c, "SHOW freshet.last_route"); got != "columnar" {
			t.Errorf("%s took route %s", sql, got)
		}
		exec(t, admin, "REVOKE EXECUTE ON FUNCTION "+function+" FROM PUBLIC")
		if _, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); !refusedWith(err, "42501") {
			t.Errorf("%s after the revoke: %v, want 42501", sql, err)
		}
	}
}

// PostgreSQL locks a table to describe a statement.
func TestGateway_stopsAStatementThatWaitsForALock(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	admin, locker := g.client(), g.client()
	exec(t, locker, "BEGIN; LOCK TABLE account IN ACCESS EXCLUSIVE MODE")
	const sql = "SELECT sum(balance) FROM account"
	for _, limit := range []struct{ set, code string }{{"SET statement_timeout = '200ms'", "57014"}, {"SET lock_timeout = '200ms'", "55P03"}} {
		c := g.client()
		exec(t, c, limit.set)
		if _, err := c.Exec(t.Context(), sql); !refusedWith(err, limit.code) {
			t.Errorf("%s: %v, want %s", limit.set, err, limit.code)
		}
	}
	c := g.client()
	ended := make(chan error, 1)
	go func() { ended <- c.PgConn().Exec(t.Context(), sql).Close() }()
	for one(t, admin, "SELECT count(*) FROM pg_locks WHERE NOT granted") == "0" {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.PgConn().CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !refusedWith(err, "57014") {
		t.Errorf("canceled: %v, want 57014", err)
	}
	exec(t, locker, "COMMIT")
	if got := one(t, c, sql); got != "100000" {
		t.Errorf("afterwards the sum is %s", got)
	}
}

func TestGateway_refusesParametersAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	c := start(t, gaps).client()
	for _, p := range []struct {
		sql, code string
		value     []byte
		format    int16
	}{
		{"SELECT count(*) FROM p WHERE s = $1", "22021", []byte("s\xff"), 0},
		{"SELECT count(*) FROM p WHERE s <> $1", "22021", []byte("s\x001"), 1},
		{"SELECT count(*) FROM p WHERE s = ANY ($1)", "22021", []byte("{s1,\xff}"), 0},
		{"SELECT count(*) FROM p WHERE n > $1", "22P03", []byte{0, 1, 0, 0, 0, 0, 0, 0, 0x7f, 5}, 1},
		{"SELECT count(*) FROM p WHERE d < $1", "22008", []byte{0x7f, 0xff, 0xff, 0xfe}, 1},
	} {
		if err := c.PgConn().ExecParams(t.Context(), p.sql, [][]byte{p.value}, nil, []int16{p.format}, nil).Read().Err; !refusedWith(err, p.code) {
			t.Errorf("%s with %q: %v, want %s", p.sql, p.value, err, p.code)
		}
	}
}

// What the replica cannot answer, or not so that it is PostgreSQL's answer, under settings that are seldom used.
func TestGateway_leavesTheRareToPostgreSQL(t *testing.T) {
	t.Parallel()
	g := start(t, gaps)
	c, oltp := g.client(), g.client()
	exec(t, oltp, "SET freshet.route = oltp")
	for _, s := range []struct{ set, sql string }{
		{"RESET ALL", "SELECT FROM p"},
		{"RESET ALL", "SELECT FROM p GROUP BY y HAVING y > 1"},
		{"RESET ALL", "SELECT id, to_char(d, 'IYYY-IDDD iddd') FROM p ORDER BY id"},
		{"SET array_nulls = off", "SELECT count(*) FROM p WHERE s <> ALL ('{NULL,s1}')"},
		{"SET TimeZone = 'UTC+3'", "SELECT id, d::timestamptz AT TIME ZONE 'UTC' FROM p ORDER BY id"},
		{"SET default_transaction_isolation = serializable", "SELECT count(*) FROM p"},
	} {
		for _, conn := range []*pgx.Conn{c, oltp} {
			exec(t, conn, s.set+"; SET freshet.route = "+map[bool]string{true: "auto", false: "oltp"}[conn == c])
		}
		wantSameOutcome(t, c, oltp, s.sql)
		if r := one(t, c, "SHOW freshet.last_route"); r != "oltp" {
			t.Errorf("%s; %s ran on the route %q", s.set, s.sql, r)
		}
	}
}

// refusedWith reports whether PostgreSQL's error, or one like it, has a SQLSTATE.
func refusedWith(err error, code string) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == code
}

// Settings that a write changes, by a trigger for instance, mean for the replica what they mean for PostgreSQL.
func TestGateway_noticesSettingsThatAWriteChanges(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE item (id int PRIMARY KEY, t text, f float8); INSERT INTO item VALUES (1, 'a', 1.0/7), (2, NULL, 2.0/7);
CREATE TABLE note (id serial PRIMARY KEY, setting text, value text);
CREATE FUNCTION apply() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM set_config(NEW.setting, NEW.value, false); RETURN NEW; END$$;
CREATE TRIGGER apply BEFORE INSERT ON note FOR EACH ROW EXECUTE FUNCTION apply()`)
	c, oltp := g.client(), g.client()
	exec(t, oltp, "SET freshet.route = oltp")
	for _, sql := range []string{"SELECT count(*) FROM item WHERE t = NULL", "SELECT max(f), min(f) FROM item"} {
		for _, change := range []string{
			"INSERT INTO note (setting, value) VALUES ('transform_null_equals', 'on'), ('extra_float_digits', '-5')",
			"UPDATE pg_settings SET setting = '0' WHERE name = 'extra_float_digits'",
			"UPDATE pg_settings SET setting = 'off' WHERE name = 'transform_null_equals'",
		} {
			wantSameAnswer(t, c, oltp, sql)
			exec(t, c, change)
			exec(t, oltp, change)
			wantSameAnswer(t, c, oltp, sql)
		}
	}
	exec(t, c, "RESET ALL")
	_ = one(t, c, "SELECT count(*) FROM item")
	if r := one(t, c, "SHOW freshet.last_route"); r != "columnar" {
		t.Errorf("last route is %q: %s", r, one(t, c, "SHOW freshet.last_reason"))
	}
}

// Under READ COMMITTED a statement sees what was committed before it, if the session asks for that.
func TestGateway_strongStatementsOfABlockSeeNewerCommits(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c, other := g.client(), g.client()
	exec(t, c, "SET freshet.freshness = strong")
	const sum = "SELECT sum(balance) FROM account"
	for isolation, sees := range map[string]bool{"READ COMMITTED": true, "READ UNCOMMITTED": true, "REPEATABLE READ": false} {
		exec(t, c, "BEGIN ISOLATION LEVEL "+isolation+" READ ONLY")
		before := one(t, c, sum)
		for range 3 {
			exec(t, other, "UPDATE account SET balance = balance + 1 WHERE id = 1")
			if got := one(t, c, sum); (got != before) != sees {
				t.Errorf("%s: the sum was %s and is %s", isolation, before, got)
			} else {
				before = got
			}
		}
		exec(t, c, "COMMIT")
	}
}
