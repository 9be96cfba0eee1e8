package server_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A text is read as a moment in plain ISO forms, under whichever zone; all others are PostgreSQL's, with its answer or its error.
func TestGateway_readsTextsAsMomentsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE said (id int PRIMARY KEY, s text, doc jsonb);
INSERT INTO said SELECT ordinality - 1, v, jsonb_build_object('at', v) FROM unnest(ARRAY['2024-02-29', '2024-02-29 12:34', '2024-02-29T23:59:59', '2024-02-29 12:34:56.7', '2024-02-29T12:34:56.789012Z', '1999-12-31 00:00:00+00',
 '2024-03-31 02:30:00', '2024-03-31T01:30:00.5Z', '2024-10-27 02:30:00', '2024-10-27 02:30:00+01:00', '2024-06-01 00:00:00-0330', '2024-06-01T00:00:00.000001+14', '1900-01-02', '2299-12-30 23:59:59', NULL, '2023-02-29', '2024-13-01',
 '2024-02-29 24:00:00', '2024-02-29 12:60', '2024-02-29 12:34:60', '2024-02-29 12', '2024-2-9', '20240229', '29.02.2024', 'now', 'infinity', '', ' 2024-02-29', '2024-02-29 ', '2024-02-29t12:34:56', '2024-02-29 12:34:56.1234567', '2024-02-29 12:34:56 Z',
 '2024-02-29 12:34+02', '2024-02-29 12:34:56+15:30', '2024-02-29 12:34:56+02:60', '0001-01-01', '10000-01-01', '2024-02-29 BC', '2024-02-29 12:34:56 Europe/Berlin', 'x', '2024-02-29Z']) WITH ORDINALITY t(v, ordinality)`
	g := start(t, schema)
	for _, zone := range []string{"UTC", "America/New_York"} {
		columnar, oltp := g.routes()
		for _, c := range []*pgx.Conn{columnar, oltp} {
			exec(t, c, "SET TimeZone = '"+zone+"'")
		}
		wantAlikeIn(t, columnar, oltp, 1, []string{
			"SELECT id, s::timestamp, (doc->>'at')::timestamp FROM said WHERE id < 15 ORDER BY id", "SELECT id, s::timestamptz, (doc->>'at')::timestamptz FROM said WHERE id BETWEEN 0 AND 11 OR id = 14 ORDER BY id",
			"SELECT date_trunc('month', (doc->>'at')::timestamptz) AS m, count(*) FROM said WHERE id < 12 GROUP BY 1 ORDER BY 1",
			"SELECT max(s::timestamp), min((doc->>'at')::timestamptz) FILTER (WHERE id < 9) FROM said WHERE id < 12", "SELECT id, CASE WHEN length(s) = 10 THEN s::timestamp END FROM said WHERE id < 15 ORDER BY id",
		})
		wantAlikeIn(t, columnar, oltp, 0, []string{"SELECT id FROM said WHERE id < 15 AND s::timestamp >= '2024-03-01' ORDER BY s::timestamp, id", "SELECT id FROM said WHERE s::timestamptz >= '2024-03-01'"})
		wantAlikeByRow(t, columnar, oltp, 0.3, []string{"s::timestamp", "s::timestamptz", "(doc->>'at')::timestamptz + interval '1 day'"}, "said", 41)
	}
}

// to_date and to_timestamp take less than the whole text, and more than the digits of a pattern. The replica reads what is exactly as the template.
func TestGateway_readsByTemplatesAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE written (id int PRIMARY KEY, s text, n int);
INSERT INTO written SELECT ordinality - 1, v, 20240100 + ordinality FROM unnest(ARRAY['2024-02-29', '20240229', '29/02/2024', '202402', '2024', '2024-02-29 12:34:56', '2024-02-29 12:34', '29.02.2024', '2023-02-29', '2024-2-9', '2024-02-30', '', 'x', NULL, '2024-02-29 24:00:00',
 '02/29/2024', '2024/02/29', '1899-12-31', '2400-01-01', '2024-00-01', '2024-01-00', '0000-01-01', '24-01-01', ' 2024-02-29', '2024-02-29x']) WITH ORDINALITY t(v, ordinality)`
	columnar, oltp := start(t, schema).routes()
	for _, c := range []*pgx.Conn{columnar, oltp} {
		exec(t, c, "SET TimeZone = 'Europe/Berlin'")
	}
	var values []string
	for _, template := range []string{"yyyy-mm-dd", "YYYYMMDD", "DD/MM/YYYY", "MM/DD/YYYY", "YYYYMM", "YYYY", "YYYY-MM-DD HH24:MI:SS"} {
		values = append(values, fmt.Sprintf("to_date(s, '%s')", template), fmt.Sprintf("to_timestamp(s, '%s')", template))
	}
	wantAlikeByRow(t, columnar, oltp, 0.08, values, "written", 25)
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT id, to_date(n::text, 'YYYYMMDD') FROM written ORDER BY id", "SELECT to_date(left(n::text, 6), 'YYYYMM') AS m, count(*) FROM written GROUP BY 1 ORDER BY 1",
		"SELECT to_date(to_char(to_date(n::text, 'YYYYMMDD'), 'DD/MM/YYYY'), 'DD/MM/YYYY') + 1 AS d FROM written ORDER BY id", "SELECT id FROM written WHERE to_timestamp(n::text || ' 023000', 'YYYYMMDD HH24MISS') > '2024-01-05' ORDER BY 1",
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{
		"SELECT to_date(s, 'MM-DD') FROM written", "SELECT to_date(s, 'YYYY-DD') FROM written", "SELECT to_date(s, 'YYYY-MM-DD YYYY') FROM written", "SELECT to_date(s, 'DD Mon YYYY') FROM written", "SELECT to_date(s, s) FROM written", "SELECT to_timestamp(s, 'YYYY-MM-DD HH12:MI') FROM written",
		"SELECT to_timestamp(s, 'YYYY HH24') FROM written", "SELECT to_date('2024x', 'YYYYMMDD') FROM written",
	})
}
