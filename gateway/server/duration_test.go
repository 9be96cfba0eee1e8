package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

const tickets = `CREATE TABLE ticket (id int PRIMARY KEY, opened timestamp NOT NULL, closed timestamp, seen timestamptz, due date, kind int NOT NULL);
INSERT INTO ticket SELECT i, t, t + (hashint8(i) % 1000003) * interval '0.731 seconds' * (1 + i % 400), (t + interval '1 hour' * (i % 50 - 25)) AT TIME ZONE 'UTC', t::date + i % 9, i % 487
  FROM (SELECT i, timestamp '2024-02-29 23:59:59.999999' + i * interval '37.000013 minutes' AS t FROM generate_series(1, 6000) i) x;
UPDATE ticket SET closed = NULL WHERE id % 17 = 0; UPDATE ticket SET closed = opened WHERE id % 23 = 0; UPDATE ticket SET closed = opened - interval '1 day' WHERE id % 29 = 0;
CREATE TABLE endless (id int PRIMARY KEY, a timestamp, b timestamp); INSERT INTO endless VALUES (1, 'infinity', '2024-01-01'), (2, '200000-01-01', '2024-01-01')`

func TestGateway_computesDurationsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, tickets)
	columnar, oltp := g.routes()
	read := func(c *pgx.Conn, sql string, format int16) []string {
		r := c.PgConn().ExecParams(t.Context(), sql, nil, nil, nil, []int16{format}).Read()
		if r.Err != nil {
			t.Fatalf("%s: %v", sql, r.Err)
		}
		rows := make([]string, len(r.Rows))
		for i, row := range r.Rows {
			for _, v := range row {
				rows[i] += string(v) + "|"
			}
		}
		return rows
	}
	for _, sql := range []string{
		"SELECT id, closed - opened, opened - closed, seen - timestamptz '2024-03-01 00:00:00.5+02', due - opened FROM ticket ORDER BY id",
		"SELECT kind, sum(closed - opened), avg(closed - opened), min(closed - opened), max(closed - opened), count(closed - opened) FROM ticket GROUP BY kind ORDER BY kind",
		"SELECT kind % 7, avg(opened - closed), sum(opened - due), avg(seen - opened AT TIME ZONE 'UTC') FROM ticket GROUP BY 1 ORDER BY 1",
		"SELECT avg(closed - opened) FILTER (WHERE kind < 0), sum(closed - opened), avg(closed - opened) FROM ticket",
		"SELECT id, extract(epoch FROM closed - opened), extract(day FROM closed - opened), extract(hour FROM closed - opened), extract(minute FROM closed - opened) FROM ticket ORDER BY id",
		"SELECT id, date_part('epoch', closed - opened), date_part('day', closed - opened), date_part('hour', closed - opened) FROM ticket ORDER BY id",
		"SELECT kind, round(avg(extract(epoch FROM closed - opened)) / 3600, 2) FROM ticket GROUP BY kind ORDER BY 2, 1 LIMIT 50",
		"SELECT id FROM ticket WHERE closed - opened > interval '20 days 3 hours' OR closed - opened < '-1 mon' ORDER BY closed - opened DESC, id LIMIT 40",
		"SELECT id, CASE WHEN closed - opened > '1 day' THEN closed - opened END, coalesce(closed - opened, '0 hours') FROM ticket ORDER BY id LIMIT 100",
		"SELECT max(d), min(d) FROM (SELECT closed - opened AS d FROM ticket WHERE kind < 10) AS x",
		"SELECT id, opened - lag(opened) OVER (ORDER BY id) FROM ticket ORDER BY id LIMIT 20",
		"SELECT kind, avg(closed - opened) FROM ticket GROUP BY kind HAVING max(closed - opened) > '10 days' ORDER BY kind",
	} {
		for format := range int16(2) {
			got, want := read(columnar, sql, format), read(oltp, sql, format)
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Errorf("%s, format %d: row %d is %q, PostgreSQL says %q", sql, format, i+1, got[i], want[i])
					break
				}
			}
			if len(got) != len(want) {
				t.Errorf("%s: %d rows, PostgreSQL says %d", sql, len(got), len(want))
			}
		}
	}
}

// Rails sets IntervalStyle to iso_8601 in every session.
func TestGateway_writesIntervalsInTheSessionsStyle(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, tickets+"; CREATE VIEW lately AS SELECT id, opened FROM ticket WHERE opened > timestamp '2024-07-01' - interval '1 mon -2 days'").routes()
	intervals := []string{
		"SELECT id, closed - opened, opened - closed, age(closed, opened), age(opened, closed), kind * interval '1 mon', kind * interval '-1 day' FROM ticket ORDER BY id",
		"SELECT kind, sum(closed - opened), avg(closed - opened), min(closed - opened) FROM ticket GROUP BY kind ORDER BY kind",
	}
	others := []string{
		"SELECT count(*), min(opened) FROM lately",
		"SELECT count(*) FILTER (WHERE opened > timestamp '2024-05-01' + interval '-1 day 02:00'), max(opened + '-1 day +02:00'::interval) FROM ticket",
	}
	for _, tt := range []struct {
		style             string
		intervals, others float64 // that run on the replica
	}{{"postgres", 1, 1}, {"iso_8601", 1, 1}, {"postgres_verbose", 0, 1}, {"sql_standard", 0, 0}} {
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET IntervalStyle = "+tt.style)
		}
		wantAlikeIn(t, columnar, oltp, tt.intervals, intervals)
		wantAlikeIn(t, columnar, oltp, tt.others, others)
	}
}

func TestGateway_leavesOtherIntervalsToPostgreSQL(t *testing.T) {
	t.Parallel()
	g := start(t, tickets)
	c := g.client()
	for sql, reason := range map[string]string{
		"SELECT a - b FROM endless":                             "a value needs PostgreSQL's own arithmetic: timestamp out of range",
		"SELECT DISTINCT closed - opened FROM ticket":           "grouping intervals",
		"SELECT interval '1 day' FROM ticket":                   "interval constant as a result",
		"SELECT coalesce(closed - opened, '1 mon') FROM ticket": "interval constant that is not in the form of a duration",
		"SELECT (closed - opened) * 2 FROM ticket":              "interval that is not constant",
		"SELECT (closed - opened)::text FROM ticket":            "",
	} {
		want := query(t, c, "/* the same */ "+sql)
		if got := query(t, c, sql); !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, and %d", sql, len(got), len(want))
		}
		if route, why := one(t, c, "SHOW freshet.last_route"), one(t, c, "SHOW freshet.last_reason"); route != "oltp" || !strings.Contains(why, reason) {
			t.Errorf("%s took route %s: %s", sql, route, why)
		}
	}
}
