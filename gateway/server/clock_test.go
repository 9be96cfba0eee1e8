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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

// Instants and wall clock times around changes of the clocks, in zones that change them in all the ways there are.
func TestGateway_clocksOfZonesShowWhatTheyDoInPostgreSQL(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE tick (id int PRIMARY KEY, at timestamptz, shown timestamp, day date);
INSERT INTO tick SELECT i, '2024-03-30 20:10:00.25+00'::timestamptz + i * interval '7 minutes', '2024-03-30 22:00:00'::timestamp + i * interval '7 minutes', date '2024-03-28' + i / 100
FROM generate_series(0, 399) i;
INSERT INTO tick SELECT 1000 + i, '2024-10-26 20:10:00+00'::timestamptz + i * interval '7 minutes', '2024-10-26 21:30:00'::timestamp + i * interval '7 minutes', date '2024-10-26' + i / 100
FROM generate_series(0, 399) i;
INSERT INTO tick SELECT 2000 + i, '1971-01-03 00:00:00+00'::timestamptz + i * interval '41 days 3 hours 17 seconds', '1971-01-03 02:30:00'::timestamp + i * interval '29 days', date '1971-01-09' + i * 30
FROM generate_series(0, 700) i;
INSERT INTO tick VALUES (9999)`)
	columnar, oltp := g.routes()
	for _, zone := range []string{"Europe/Berlin", "Australia/Lord_Howe", "Africa/Casablanca", "Asia/Kathmandu", "America/New_York", "America/Havana"} {
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET TimeZone = '"+zone+"'")
		}
		for _, sql := range []string{
			"SELECT id, at FROM tick ORDER BY id",
			"SELECT id, at::timestamp, at::date, shown::timestamptz, day::timestamptz FROM tick ORDER BY id",
			"SELECT date_trunc('day', at), count(*), min(at), max(at) FROM tick GROUP BY 1 ORDER BY 1",
			"SELECT id, date_trunc('hour', at), date_trunc('week', at), date_trunc('month', at), date_trunc('year', shown::timestamptz), date_trunc('quarter', day) FROM tick ORDER BY id",
			"SELECT extract(hour FROM at), extract(dow FROM at), extract(epoch FROM shown::timestamptz), count(*) FROM tick GROUP BY 1, 2, 3 ORDER BY 1, 3, 2",
			"SELECT id, to_char(at, 'YYYY-MM-DD HH24:MI:SS'), to_char(day, 'IYYY-IW') FROM tick ORDER BY id",
			"SELECT id, at + interval '1 day', at - interval '1 month 3 days 02:00', at + interval '36 hours', shown::timestamptz + interval '1 year' FROM tick ORDER BY id",
			"SELECT id, date_trunc('day', at, 'Europe/Berlin'), date_trunc('HOUR', at, 'Asia/Kathmandu'), date_trunc('month', shown, 'America/New_York'), date_trunc('week', day, 'Australia/Lord_Howe'), date_trunc('year', at, 'UTC') FROM tick ORDER BY id",
			"SELECT date_trunc('quarter', at, 'America/Havana') AS q, count(*) FROM tick WHERE at >= date_trunc('day', timestamptz '2024-03-31 12:00+00', 'Africa/Casablanca') GROUP BY q ORDER BY q",
			"SELECT id, date_trunc('minute', at, 'Asia/Tokyo'), date_trunc('day', shown, 'Asia/Tokyo'), date_trunc('second', day, 'Europe/Berlin') FROM tick ORDER BY id",
			"SELECT id FROM tick WHERE at > shown OR at < day ORDER BY id",
			"SELECT count(*) FROM tick WHERE at BETWEEN '2024-03-31 02:30:00' AND date '2024-10-27' + interval '2 hours 30 minutes'",
			"SELECT id, at AT TIME ZONE 'Asia/Tokyo', shown AT TIME ZONE 'America/Los_Angeles', at AT TIME ZONE 'UTC' FROM tick ORDER BY id",
			"SELECT count(*) FROM tick WHERE at > now() - interval '20 years' AND at < now() - interval '1 month' AND day < current_date",
		} {
			want := query(t, oltp, sql)
			got := query(t, columnar, sql)
			for i := range want {
				if i >= len(got) || got[i] != want[i] {
					t.Errorf("%s: %s: row %d of %d (%d) differs: %v, PostgreSQL says %s", zone, sql, i, len(want), len(got), got[min(i, max(len(got)-1, 0)):min(i+1, len(got))], want[i])
					break
				}
			}
		}
	}
}

// The engine has other rules for this zone: it is told instants only.
func TestGateway_leavesZonesThatTheEngineHasOtherwiseToPostgreSQL(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE tick (id int PRIMARY KEY, at timestamptz NOT NULL); INSERT INTO tick SELECT i, '2001-10-27 00:00:00+00'::timestamptz + i * interval '1 hour' FROM generate_series(0, 99) i`)
	c, oltp := g.client(), g.client()
	exec(t, oltp, "SET freshet.route = oltp")
	for sql, route := range map[string]string{
		"SELECT max(at), min(at) FROM tick WHERE at > '2001-10-28 00:30:00'": "columnar",
		"SELECT count(*) FROM tick WHERE at::date = '2001-10-28'":            "oltp",
	} {
		for _, session := range []*pgx.Conn{c, oltp} {
			exec(t, session, "SET TimeZone = 'America/St_Johns'")
		}
		if got, want := one(t, c, sql), one(t, oltp, sql); got != want {
			t.Errorf("%s: %s, PostgreSQL says %s", sql, got, want)
		}
		if last := one(t, c, "SHOW freshet.last_route"); last != route {
			t.Errorf("%s: route %s (%s), want %s", sql, last, one(t, c, "SHOW freshet.last_reason"), route)
		}
	}
}

// A zone may have the name of an abbreviation, which means the same offset always where it is no setting.
func TestGateway_showsTimesInZonesThatAreNamedLikeAbbreviations(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE visit (id int PRIMARY KEY, at timestamptz NOT NULL);
INSERT INTO visit SELECT i, timestamptz '2024-01-30 12:00:00+00' + i * interval '11 days' FROM generate_series(0, 40) i`)
	columnar, oltp := g.routes()
	for _, zone := range []string{"CET", "EET", "WET", "MET", "EST", "HST"} {
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET TimeZone = '"+zone+"'")
		}
		wantSameAnswer(t, columnar, oltp, "SELECT id, at FROM visit ORDER BY id")
	}
}
