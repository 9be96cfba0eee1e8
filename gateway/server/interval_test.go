package server_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

const stays = `CREATE TABLE stay (id int PRIMARY KEY, day date, came timestamp, came_tz timestamptz, went timestamp);
INSERT INTO stay SELECT i, date '2024-01-31' + i % 400, timestamp '2024-02-29 13:14:15.161718' + i * interval '7 hours', timestamptz '2024-03-30 22:00+00' + i * interval '13 minutes',
  timestamp '2024-03-01' + i * interval '9 hours' FROM generate_series(1, 700) i`

func TestGateway_computesConstantIntervalsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	computed := over(
		"interval '1 day' * 7", "7 * interval '1 day'", "3::smallint * interval '1 mon 2 days 03:04:05.6'", "interval '1 month' * -3", "-interval '1 mon -3 hours'", "interval '1 day' * 0",
		"interval '1 day' + interval '36 hours'", "interval '1 year' - interval '1 day 23:00'", "(interval '1 week' + interval '1 mon') * 2",
		"make_interval(days => 7)", "make_interval(0, 2, 1)", "make_interval(years => -1, secs => 30)", "make_interval(hours => 2 + 3, mins => 7)", "make_interval()",
	)
	for _, form := range []string{
		"1 month - 1 day", "- 2 hours", "1 day -02:00", "1 day - 02:00:00.5", "+ 3 days + 04:05", "36:00", "-100:30", "1.5 hours", "-0.5 hours", "1.5 days", "2.25 minutes -1 mon", "0.000001 seconds", "-1.000001 sec", "1.5 days 02:00",
	} {
		computed = append(computed, over("interval '"+form+"'", "'"+form+"'::interval::interval")...)
	}
	// As views have them.
	computed = append(computed, over(
		"'3 mons'::interval month", "'1 year 2 mons'::interval year to month", "interval '1-2' year to month", "interval '-1-2' year to month", "'-1 years -2 mons'::interval year", "'1 year 2 mons'::interval month",
		"'1 day 02:03:04'::interval day to second", "interval '1 02:03:04.5' day to second", "interval '-1 02:03' day to minute", "'1 mon 1 day 02:03:04'::interval day", "'1 day 02:03:04'::interval hour",
		"'-02:03:04'::interval hour to minute", "'02:03:04'::interval hour to second", "interval '90' day to second", "interval '+7' day to hour", "interval '1 02:03'", "interval '2-11'", "interval '1 mon 3 days 04:00'::interval month",
		"'00:00:07.25'::interval second", "'1 day 02:03:04'::interval minute", "interval '5 days' month")...)
	// Fractions, more than the floats of PostgreSQL's multiplication hold, and what is out of range.
	left := over("interval '1.5 mons'", "interval '0.1 weeks'", "interval '0.0000001 seconds'", "interval '1.123456 minutes 1.0000001 days'", "interval '1 day 2 hours 03:00'", "interval '1:60'", "interval '1 - 2'", "interval '2 mons' * 1.5", "interval '1 day' / 2", "make_interval(secs => 1.5)", "interval '90 min' * 20000000000", "interval '1 microsecond' * 9007199254740993",
		"interval '10000000 days' * 10000000",
		"interval '1.5' day", "interval '02:03' minute to second", "interval '1.23456' second(2)", "interval '1-12'", "interval '1-2 3 days'", "interval '1 - 2'")
	columnar, oltp := start(t, stays).routes()
	for _, zone := range []string{"UTC", "Europe/Berlin"} {
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET TimeZone = '"+zone+"'")
		}
		wantAlikeIn(t, columnar, oltp, 1, computed)
		wantAlikeIn(t, columnar, oltp, 0, left)
	}
}

// over returns statements that add intervals to dates and timestamps, and compare with them.
func over(intervals ...string) []string {
	var statements []string
	for _, interval := range intervals {
		statements = append(statements,
			fmt.Sprintf("SELECT id, day + (%s), came - (%[1]s), (%[1]s) + came_tz FROM stay ORDER BY id", interval),
			fmt.Sprintf("SELECT count(*), count(*) FILTER (WHERE went - came > %[1]s) FROM stay WHERE came < timestamp '2024-06-01' - (%[1]s)", interval),
		)
	}
	return statements
}

// A parameter that multiplies an interval is a float8 for PostgreSQL.
func TestGateway_multipliesIntervalsByParameters(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, stays).routes()
	for _, tt := range []struct {
		sql   string
		value any
		runs  bool
	}{
		{"SELECT count(*) FROM stay WHERE came > timestamp '2024-05-01' - interval '1 day' * $1", 30.0, true},
		{"SELECT count(*) FROM stay WHERE came > timestamp '2024-05-01' - $1 * interval '1 month'", "2", true},
		{"SELECT count(*) FROM stay WHERE came > timestamp '2024-05-01' - make_interval(days => $1)", 45, true},
		{"SELECT count(*) FROM stay WHERE came > timestamp '2024-05-01' - interval '1 day' * $1", 30.5, false},
		{"SELECT count(*) FROM stay WHERE came > timestamp '2024-05-01' - $1::interval", "45 days", true},
		{"SELECT count(*) FROM stay WHERE came > timestamp '2024-05-01' - $1::interval", "1 mon -2 days 03:04:05", true},
		{"SELECT count(*) FROM stay WHERE came > timestamp '2024-05-01' - $1::interval", pgtype.Interval{Months: 1, Days: -2, Microseconds: -5_000_001, Valid: true}, true},
		{"SELECT count(*) FROM stay WHERE went - came > $1::interval * 2", 36 * time.Hour, true},
	} {
		ask := func(c *pgx.Conn) (n int, err error) {
			err = c.QueryRow(t.Context(), tt.sql, tt.value).Scan(&n)
			return n, err
		}
		want, err := ask(oltp)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ask(columnar)
		if (err == nil) != tt.runs {
			t.Errorf("%s with %v: %v", tt.sql, tt.value, err)
		} else if diff := cmp.Diff(want, got); diff != "" && tt.runs {
			t.Errorf("%s with %v: %s", tt.sql, tt.value, diff)
		}
	}
}
