package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// momentForms are constants for dates and timestamps as drivers and dashboards write them, and some that PostgreSQL refuses.
var momentForms = []string{
	"2024-02-29", "2024-02-29 23:59:59.999999", "2024-02-29T23:59:59Z", "2024-02-29T23:59:59.123Z", "2024-02-29 23:59+01", "2024-02-29 00:30:00-05", "2024-02-29 00:30:00 -05:30",
	"2024-02-29 +01", "2024-02-29 -05", "2024-02-29+01", "2024-02-29-05", "2024-02-29Z", "2024-02-29 Z", "2024-03-31 02:30:00 +0200", "2024-03-31T02:30Z", "2024-03-31 02:30:00",
	"1969-12-31T23:59:59.5+15:59", "1969-12-31 00:00:00.000001-15:59", "2024-02-29 12:00+16", "2024-02-30T00:00:00Z", "2024-02-29 25:00Z", "0001-01-01 00:00Z", "2024-02-29T", " 2024-02-29 00:00 Z ",
	"2024-2-29", "2024-02-9", "2024-2-9 3:05", "2024-2-9 03:05:09.5", "2024-2-9T3:05", "2024-2-30", "2024-2-9 +01", "2024-2-9Z", "2024-2-9+01", "2024-2-9 3:05-05", "2024-2-9 3:05:09+01:30", "2024-0-9", "2024-2-0",
}

func TestGateway_readsMomentsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE moment (id int PRIMARY KEY, d date, ts timestamp, tz timestamptz);
INSERT INTO moment VALUES (0, NULL, NULL, NULL), (1, '2024-02-29', '2024-02-29 23:59:59', '2024-02-29 23:59:59+00'), (2, '1969-12-31', '1969-12-31 23:59:59.5', '1969-12-31 00:00+00'),
 (3, '2024-03-31', '2024-03-31 02:30', '2024-03-31 00:30+00'), (4, '2024-02-28', '2024-02-29 00:30', '2024-02-29 05:30+00')`)
	columnar, oltp := g.routes()
	var statements []string
	for _, form := range momentForms {
		for _, condition := range []string{"d >= '%[1]s'", "ts < '%[1]s'", "tz BETWEEN '%[1]s' AND '2024-03-31T00:30:00Z'", "ts IN ('%[1]s', '2024-03-31 02:30:00+01')", "d = timestamp '%[1]s'", "ts >= date '%[1]s'", "tz >= date '%[1]s' - 1"} {
			statements = append(statements, fmt.Sprintf("SELECT id, "+condition+" FROM moment ORDER BY id", form))
		}
	}
	for _, call := range []string{
		"to_timestamp('2024-02-29 23:59:59.999999', 'YYYY-MM-DD HH24:MI:SS.US')", "to_timestamp('2024-03-31 02:30:00.500', 'YYYY-MM-DD HH24:MI:SS.MS')", "to_timestamp('1969-12-31 00:00:00', 'YYYY-MM-DD HH24:MI:SS')",
		"to_timestamp('2024-10-27 02:30', 'YYYY-MM-DD HH24:MI')", "to_timestamp('2024-02-29', 'YYYY-MM-DD')", "to_date('2024-02-29', 'YYYY-MM-DD')", "to_date('0001-01-01', 'YYYY-MM-DD')", "to_date('2024-02-29 12:30:00', 'YYYY-MM-DD HH24:MI:SS')",
		"to_timestamp('2024-02-30', 'YYYY-MM-DD')", "to_date('2024-13-01', 'YYYY-MM-DD')", "to_timestamp('2024-02-29 24:00:00', 'YYYY-MM-DD HH24:MI:SS')", "to_timestamp('2024-02-29 23:59:60', 'YYYY-MM-DD HH24:MI:SS')",
	} {
		statements = append(statements, fmt.Sprintf("SELECT id, tz >= %[1]s, ts < %[1]s, d = %[1]s, %[1]s FROM moment ORDER BY id", call), fmt.Sprintf("SELECT count(*), max(%[1]s) FROM moment WHERE tz > %[1]s - interval '1 day'", call))
	}
	for _, zone := range []string{"UTC", "Europe/Berlin"} {
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET TimeZone = '"+zone+"'")
		}
		wantAlikeIn(t, columnar, oltp, 0.88, statements)
		wantAlikeBound(t, columnar, oltp, "SELECT id, d >= $1::date, ts < $1::date, ts >= $2::timestamp, tz <> $3::timestamptz FROM moment ORDER BY id", momentForms, 3)
	}
}

// wantAlikeBound compares what a statement says with a text for its parameters, which the replica answers unless PostgreSQL refuses it.
func wantAlikeBound(t *testing.T, columnar, oltp *pgx.Conn, sql string, values []string, parameters int) {
	t.Helper()
	for _, v := range values {
		ask := func(c *pgx.Conn) ([]string, error) {
			r := c.PgConn().ExecParams(t.Context(), sql, slices.Repeat([][]byte{[]byte(v)}, parameters), nil, nil, nil).Read()
			return texts(r.Rows), r.Err
		}
		want, refused := ask(oltp)
		got, err := ask(columnar)
		if (err == nil) != (refused == nil) || !slices.Equal(got, want) {
			t.Errorf("%s with %q: %v (%v), PostgreSQL says %v (%v)", sql, v, strings.Join(got, "; "), err, strings.Join(want, "; "), refused)
		}
	}
}

// SQLAlchemy's contains() asks by a pattern that it puts together, and psycopg writes UUIDs without hyphens.
func TestGateway_readsTextsThatAreMadeOfConstants(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE part (id int PRIMARY KEY, name text, code char(4), ref uuid);
INSERT INTO part VALUES (0, NULL, NULL, NULL), (1, 'a%b', 'a', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'), (2, 'x2024-02-09', 'ab', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12'), (3, 'Ab/c\d', 'abcd', NULL), (4, 'true 1.50', '', NULL)`)
	columnar, oltp := g.routes()
	var statements []string
	for _, pattern := range []string{
		"'%' || 'a' || '%'", "'%' || 'b/%' || '%' ESCAPE '/'", "'%' || '/%b' ESCAPE '/'", `'%' || '\\d' || '%' ESCAPE '\'`, "'%' || NULL || '%' ESCAPE '/'", "'a' || '' ESCAPE ''", "'%' || 'b//c' || '%' ESCAPE '/'",
		"'x' || date '2024-2-9' ESCAPE '/'", "'%' || true || ' ' || 1.50 ESCAPE '/'", "'a  '::char(5) || '%' ESCAPE '/'", "('%' || 'b'::varchar(1)) || '%'::name ESCAPE '/'", "'%' || 'c' || code ESCAPE '/'", "'a' || '/' ESCAPE '/'",
	} {
		for _, op := range []string{"LIKE", "NOT LIKE", "ILIKE"} {
			statements = append(statements, fmt.Sprintf("SELECT id, name %[1]s %[2]s, code %[1]s %[2]s FROM part ORDER BY id", op, pattern))
		}
	}
	for _, text := range []string{"'a' || '%b'", "'Ab' || '/c' || E'\\\\' || 'd'", "'tr' || 'ue ' || '1.50' COLLATE \"C\"", "('x' COLLATE \"C\") || '2024-02-09'"} {
		statements = append(statements, fmt.Sprintf("SELECT id, %[1]s, length(%[1]s), name = %[1]s, name || (%[1]s) FROM part ORDER BY id", text),
			fmt.Sprintf("SELECT %[1]s, count(*) FROM part WHERE name <> %[1]s GROUP BY %[1]s ORDER BY %[1]s", text))
	}
	refs := []string{"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC999C0B4EF8BB6D6BB9BD380A11", "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
		"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", "a0eebc999c0b4ef8bb6d6bb9bd380a11-", "{a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11}", " a0eebc999c0b4ef8bb6d6bb9bd380a11", "a0eebc99--9c0b4ef8bb6d6bb9bd380a11", "a0-eebc999c0b4ef8bb6d6bb9bd380a11", ""}
	for _, ref := range refs {
		statements = append(statements, fmt.Sprintf("SELECT id, ref = '%[1]s', ref IN ('%[1]s'::uuid), '%[1]s'::uuid FROM part ORDER BY id", ref))
	}
	wantAlikeIn(t, columnar, oltp, 0.7, statements)
	wantAlikeBound(t, columnar, oltp, "SELECT id, ref = $1::uuid FROM part ORDER BY id", refs, 1)
	wantAlikeBound(t, columnar, oltp, "SELECT id, name LIKE '%' || $1::text || '%' ESCAPE '/' FROM part ORDER BY id", []string{"a", "/%", "//", "b", "", "c\\d", "é", "/"}, 1)
}
