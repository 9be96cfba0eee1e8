package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

const visits = `CREATE DOMAIN minutes AS int CHECK (VALUE >= 0);
CREATE TABLE visit (id int PRIMARY KEY, at timestamptz NOT NULL, day date NOT NULL, lasted minutes);
INSERT INTO visit SELECT i, now() - i * interval '1 minute', current_date - i, i FROM generate_series(0, 99) i`

// PostgreSQL gets the time that it told the columnar route's transaction as constants.
func TestGateway_timeIsThatOfTheTransaction(t *testing.T) {
	g := start(t, visits)
	columnar, oltp := g.routes()
	for _, zone := range []string{"UTC", "Asia/Kolkata", "Pacific/Kiritimati"} {
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET TimeZone = '"+zone+"'")
		}
		exec(t, columnar, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
		time := strings.Split(one(t, columnar, "SELECT now(), CURRENT_DATE, LOCALTIMESTAMP"), "|")
		constants := strings.NewReplacer("CURRENT_TIMESTAMP", "timestamptz '"+time[0]+"'", "pg_catalog.transaction_timestamp()", "timestamptz '"+time[0]+"'",
			"now()", "timestamptz '"+time[0]+"'", "CURRENT_DATE", "date '"+time[1]+"'", "LOCALTIMESTAMP", "timestamp '"+time[2]+"'")
		for _, sql := range []string{
			"SELECT count(*), sum(lasted) FROM visit WHERE at > now() - interval '30 minutes'",
			"SELECT count(*) FROM visit WHERE at BETWEEN CURRENT_TIMESTAMP - interval '2 hours' AND pg_catalog.transaction_timestamp()",
			"SELECT count(*) FROM visit WHERE day >= CURRENT_DATE - 30",
			"SELECT count(*) FROM visit WHERE day > CURRENT_DATE - interval '30 days'",
			"SELECT count(*) FROM visit WHERE day < LOCALTIMESTAMP",
			"SELECT id, CURRENT_DATE - day FROM visit WHERE day < CURRENT_DATE - 90 ORDER BY id",
			"SELECT CURRENT_DATE, LOCALTIMESTAMP, count(*) FROM visit",
		} {
			want := query(t, oltp, constants.Replace(sql))
			for range 2 { // the second time the statement is known
				if got := query(t, columnar, sql); len(got) == 0 || !slices.Equal(got, want) {
					t.Errorf("%s, %s: %v, PostgreSQL says %v", zone, sql, got, want)
				}
			}
		}
		exec(t, columnar, "COMMIT")
	}
}

func TestGateway_timestampsMeanWhatTheyDoInTheSessionsZone(t *testing.T) {
	g := start(t, `CREATE TABLE visit (id int PRIMARY KEY, at timestamptz NOT NULL);
INSERT INTO visit SELECT i, timestamptz '2024-03-30 12:00:00+00' + i * interval '11 minutes' FROM generate_series(0, 499) i`)
	columnar, oltp := g.routes()
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/St_Johns"} {
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET TimeZone = '"+zone+"'")
		}
		for _, where := range []string{
			"at < '2024-03-31 02:30:00'", // an hour that Berlin has not
			"at BETWEEN '2024-03-31' AND timestamptz '2024-04-01 12:34:56.789'",
			"at >= '2024-03-31 00:00:00+02' AND at < '2024-04-01T00:00:00Z'",
			"at >= '2024-03-31 10:30-0330' AND at <> '2024-03-31 21:00+05:45'",
			"at >= date '2024-03-31'::timestamptz",
			"at > '2024-03-31'::timestamptz - interval '36 hours'",
		} {
			sql := "SELECT count(*), sum(id) FROM visit WHERE " + where
			if want, got := query(t, oltp, sql), query(t, columnar, sql); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %v, PostgreSQL says %v", zone, where, got, want)
			}
		}
	}
}

func TestGateway_timeGoesOnBetweenTransactions(t *testing.T) {
	g := start(t, visits)
	c := g.client()
	exec(t, c, "SET freshet.route = columnar")
	last := ""
	for i := range 3 {
		now := one(t, c, "SELECT max(LOCALTIMESTAMP), count(*) FROM visit")
		if clock := one(t, c, "SELECT clock_timestamp()::timestamp"); now <= last || now > clock+"|" {
			t.Errorf("run %d: time %s after %s, and the clock shows %s", i, now, last, clock)
		}
		last = now
	}
	// A time that is not the transaction's stays with PostgreSQL.
	exec(t, c, "SET freshet.route = auto")
	for _, function := range []string{"clock_timestamp()", "statement_timestamp()", "CURRENT_TIMESTAMP(0)"} {
		_ = one(t, c, "SELECT count(*) FROM visit WHERE at <= "+function)
		if route := one(t, c, "SHOW freshet.last_route"); route != "oltp" {
			t.Errorf("%s: route %s", function, route)
		}
	}
}
