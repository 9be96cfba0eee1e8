package server_test

import "testing"

// An interval that is spelled out as a number and a unit, or times a whole number that is no integer, such as a day of the week.
func TestGateway_multipliesUnitsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE u (id int PRIMARY KEY, i int, b bigint, n numeric(12,2), z numeric(9,0), f float8, at timestamp);
INSERT INTO u VALUES (0, NULL, NULL, NULL, NULL, NULL, NULL), (1, 0, 0, 0, 0, 0, '2024-01-31'), (2, -1, -1, -1, -1, -1, '2024-03-31 02:30'), (3, 40, 40, 2.50, 40, 2.5, '2023-12-31 23:59:59.5'), (4, 1000, 2147483647, 3, 999999999, 3, '2000-02-29'),
 (5, 2147483647, 2147483648, 9999999999.99, 12, 'NaN', '2024-07-01'), (6, -2147483648, 9223372036854775807, -7, -999999999, '-0', '2024-07-02'), (7, 178956970, -2147483649, 100, 7, 'Infinity', '2024-07-03'), (8, 3, 5, 4, 6, 2147483648, '2024-07-04');
CREATE VIEW shown AS SELECT id, at + (id || ' days')::interval - extract(dow FROM at) * interval '1 day' AS v FROM u`
	columnar, oltp := start(t, schema).routes()
	var values []string
	for _, unit := range []string{"days", "day", " month", "Weeks ", " hours", "min", " secs", " years"} {
		values = append(values, "(i || '"+unit+"')::interval", "CAST(b::text || '"+unit+"' AS interval)", "at + (z || '"+unit+"')::interval", "at - (extract(dow FROM at) || '"+unit+"')::interval", "(n || '"+unit+"')::interval", "(i::varchar(2) || '"+unit+"')::interval")
	}
	for _, x := range []string{"extract(dow FROM at)", "-extract(isodow FROM at)", "n", "z", "f", "floor(n)", "date_part('day', at)", "n / 2"} {
		values = append(values, x+" * interval '1 day'", "at + "+x+" * interval '1 month'", "interval '2 days 03:00' * "+x, "at - "+x+" * interval '1 year 1 day'", x+" * interval '90 minutes'")
	}
	wantAlikeByRow(t, columnar, oltp, 0.6, values, "u", 9)
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT date_trunc('day', at::date) + (-extract(dow FROM at) * INTERVAL '1 DAY') AS week, count(*) FROM u GROUP BY 1 ORDER BY 1", "SELECT id, v FROM shown ORDER BY id", "SELECT id FROM u WHERE at > date '2024-01-01' + (id || ' days')::interval ORDER BY 1",
	})
	wantAlikeIn(t, columnar, oltp, 0, []string{"SELECT (id || ' nonsense')::interval FROM u", "SELECT (id || ' 1 day')::interval FROM u", "SELECT (id || '')::interval FROM u", "SELECT (id || NULL)::interval FROM u", "SELECT (id || '.5 days')::interval FROM u", "SELECT (id || ' days')::interval hour FROM u"})
}
