package server_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

const letters = `CREATE TABLE t (id int PRIMARY KEY, a int, b int, n numeric(10,2), c3 char(3), c5 char(5), v varchar(80), t text COLLATE "C", nm name, bo bool);
INSERT INTO t SELECT i, i % 5, nullif(i % 7, 0), i * 1.25 - 20, chr(97 + i % 4), chr(98 + i % 3) || 'x', repeat('y', i * 3) || i, chr(97 + i % 6) || '  ', 'n' || i, i % 3 = 0 FROM generate_series(1, 24) i;
INSERT INTO t (id) VALUES (100), (101);
CREATE TABLE o (k int PRIMARY KEY, x int, y int, t text COLLATE "C");
INSERT INTO o SELECT i, i % 4, nullif(i % 3, 0), chr(97 + i) FROM generate_series(1, 12) i;
INSERT INTO o (k) VALUES (50);
CREATE TABLE g (id int PRIMARY KEY, a int, v text COLLATE "C");
INSERT INTO g VALUES (1, 1, 'x'), (2, 2, 'y'), (3, NULL, 'z'), (4, 0, NULL)`

// What the grammar's precedence, the types of untyped constants and the scope of names decide.
func TestGateway_readsStatementsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, letters)
	columnar, oltp := g.routes()
	for _, sql := range []string{
		"SELECT k, (SELECT count(*) FROM t WHERE t.bo = (o.x > 1 AND o.y > 1)) FROM o ORDER BY k",
		"SELECT k, (SELECT count(*) FROM t WHERE (o.x > 1 OR o.y > 1) = t.bo) FROM o ORDER BY k",
		"SELECT k, EXISTS (SELECT 1 FROM t WHERE t.bo = (o.x IN (1, o.y)) AND t.id <> o.k) FROM o ORDER BY k",
		"SELECT k, EXISTS (SELECT 1 FROM t WHERE t.bo = (o.x IS NULL) AND t.id <> o.k) FROM o ORDER BY k",
		"SELECT NULL UNION SELECT a FROM t ORDER BY 1",
		"SELECT -2147483648 / 3, -2147483649 / 3, id FROM t ORDER BY id",
		"SELECT sum(a ORDER BY id), count(v ORDER BY a), min(n ORDER BY v) FROM t",
	} {
		wantSameOutcome(t, columnar, oltp, sql)
	}
	auto := g.client()
	for _, sql := range []string{
		"SELECT count(*) FROM (SELECT 'q' AS v UNION ALL SELECT c3 FROM t) s WHERE v = 'a  '",
		"SELECT c3 FROM t EXCEPT SELECT 'a' ORDER BY 1",
		"SELECT count(*) FROM t WHERE a - -2147483648 > 0",
		"SELECT k, 1 IN (SELECT DISTINCT ON (t.a) t.b FROM t WHERE t.a = o.x ORDER BY t.a, t.id) FROM o ORDER BY k",
		"SELECT k FROM o WHERE x NOT IN (SELECT DISTINCT ON (t.a) t.b FROM t WHERE t.a = o.y ORDER BY t.a, t.id DESC) ORDER BY k",
		"SELECT id FROM t WHERE c5 IN (SELECT 'bx' UNION SELECT c3 FROM t) ORDER BY id",
		"SELECT 'x' EXCEPT SELECT a FROM t",
		"SELECT id, length(coalesce(v, nm)) FROM t ORDER BY id",
		"SELECT max(length(s.v)) FROM (SELECT v FROM t UNION ALL SELECT nm FROM t) s",
		"SELECT id FROM t WHERE v = ANY (ARRAY[v, nm]) ORDER BY id",
		"SELECT k FROM o WHERE EXISTS (SELECT 1 FROM t WHERE t.id = o.k AND t.b > o.y AND t.id <> o.y AND nullif('(SELECT ', '(SELECT ') = o.t) ORDER BY k",
		"SELECT k, (SELECT count(*) FROM t WHERE t.a = o.x AND t.t <> '(SELECT ') FROM o ORDER BY k",
		"SELECT s.k FROM (SELECT k, '(0,1)' AS ctid FROM o) s WHERE EXISTS (SELECT 1 FROM t WHERE t.id = s.k AND ctid::text = '(0,1)') ORDER BY k",
		"SELECT s.k FROM (SELECT k, 0 AS xmin FROM o) s WHERE EXISTS (SELECT 1 FROM t WHERE t.id = s.k AND xmin::text = '0') ORDER BY k",
		"SELECT sum(a ORDER BY 1 / a) FROM g",
		"SELECT count(v ORDER BY 1 / a) FROM g",
	} {
		wantSameOutcome(t, auto, oltp, sql)
	}
}

// Parameters in text format are read by PostgreSQL's input functions, which take less than others do.
func TestGateway_readsParametersAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, letters)
	auto, oltp := g.client(), g.connect(g.oltp.URL("postgres"))
	for _, p := range []struct {
		oid    uint32
		cast   string
		values []string
	}{
		{pgtype.Int4OID, "int4", []string{" 7\t", "\u00a07", "0x1f", "1_000", "1__0", "-2147483648", "2147483648", "+7", ""}},
		{pgtype.Int8OID, "int8", []string{"\v7\f", "7\u00a0", "9223372036854775807", "9223372036854775808", "0b11", "0o17"}},
		{pgtype.Float8OID, "float8", []string{"1e-400", "1e400", "4e-324", " 1.5 ", "1.5\u00a0", "Infinity", "-inf", "nan", "1e", "0x10", ".5", "1_0"}},
		{pgtype.Float4OID, "float4", []string{"1e-60", "1e60", "1.5", "1e-45"}},
		{pgtype.NumericOID, "numeric", []string{" 1.50 ", "1.5\u00a0", "1e3", "NaN", "0x1F", "1_0.5", "."}},
		{pgtype.BoolOID, "bool", []string{" yes ", "y\u00a0", "of", "o", "tru", "2", "1"}},
		{pgtype.DateOID, "date", []string{" 2020-01-02 ", "2020-1-2", "20200102", "infinity", "2020-02-30", "epoch"}},
		{pgtype.TimestampOID, "timestamp", []string{"2020-01-02 03:04:05.6", "2020-01-02T03:04", "2020-01-02 24:00:00", "2020-01-02 25:00:00", "2020-01-02"}},
		{pgtype.UUIDOID, "uuid", []string{
			"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "{a0eebc999c0b4ef8bb6d6bb9bd380a11}", "A0EEBC99-9c0b4ef8-bb6d6bb9-bd380a11",
			"a0eebc9-99c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11-", " a0eebc999c0b4ef8bb6d6bb9bd380a11",
		}},
		{pgtype.IntervalOID, "interval", []string{
			"1 day", "1 month 1 month", "1 hour 2:00", "1day2hour", "1day", "1 day\u00a02 hours", "2 hours 1 day", "1 day 02:03:04.5", "-1 day +2:00", "1 dаy", "P1DT2H", "1 day ago", "",
		}},
	} {
		sql := "SELECT k, $1::" + p.cast + " FROM o WHERE k < 3 ORDER BY k"
		for _, value := range p.values {
			if want, got := boundOutcome(t, oltp, sql, p.oid, value), boundOutcome(t, auto, sql, p.oid, value); !slices.Equal(got, want) {
				t.Errorf("%s of %q: %v, PostgreSQL says %v", p.cast, value, got, want)
			}
		}
	}
}

// boundOutcome is what outcome returns of a statement with a parameter in text format.
func boundOutcome(t *testing.T, c *pgx.Conn, sql string, oid uint32, value string) []string {
	t.Helper()
	result := c.PgConn().ExecParams(t.Context(), sql, [][]byte{[]byte(value)}, []uint32{oid}, nil, nil).Read()
	if refused, ok := errors.AsType[*pgconn.PgError](result.Err); ok {
		return []string{"SQLSTATE " + refused.Code, refused.Message}
	}
	if result.Err != nil {
		t.Fatalf("%s of %q: %v", sql, value, result.Err)
	}
	return texts(result.Rows)
}
