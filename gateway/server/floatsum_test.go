package server_test

import (
	"strings"
	"testing"
)

// Sums of floats have one value in any order of the rows where all of them are exact: of whole numbers, halves and the like.
func TestGateway_sumsFloatsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	const schema = `CREATE TABLE f (id int PRIMARY KEY, grp int, whole float8, part float8, i int, at timestamp, doc jsonb);
INSERT INTO f SELECT i, nullif(i % 5, 4), nullif(i * 37 % 101 - 50, 0), CASE WHEN i % 7 > 0 THEN i * 0.0625 - 9 END, nullif(i % 9, 3), timestamp '2024-01-01' + i * interval '7 hours', jsonb_build_object('v', i % 8) FROM generate_series(0, 299) i;
CREATE TABLE w (id int PRIMARY KEY, x float8);
INSERT INTO w VALUES (0, 0), (1, '-0'), (2, NULL), (3, 0.1), (4, 'NaN'), (5, 'Infinity'), (6, '-Infinity'), (7, 1e15), (8, 5e-324), (9, 0.03125), (10, 281474976710656), (11, -281474976710656), (12, 281474976710656.5), (13, 1.5), (14, 140737488355328)`
	columnar, oltp := start(t, schema).routes()
	places := []string{
		"SELECT @ AS v FROM f", "SELECT @ AS v FROM f WHERE id < 0", "SELECT grp, @ AS v FROM f GROUP BY grp ORDER BY grp", "SELECT grp, i, @ AS v FROM f GROUP BY CUBE (grp, i) ORDER BY grp, i, grouping(grp, i)", "SELECT grp FROM f GROUP BY grp HAVING @ > 1 ORDER BY @, grp",
		"SELECT g, (SELECT @ FROM f WHERE f.grp = g AND i > 2) AS v FROM generate_series(0, 5) g ORDER BY g", "SELECT v, count(*) FROM (SELECT i, @ AS v FROM f GROUP BY i) x GROUP BY v ORDER BY v", "SELECT g.i, x.v FROM f g LEFT JOIN LATERAL (SELECT @ AS v FROM f WHERE f.grp = g.i AND f.id <= g.id) x ON true ORDER BY g.id",
		"SELECT id, @ OVER (PARTITION BY grp ORDER BY id) AS v FROM f ORDER BY id", "SELECT id, @ OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING) AS v FROM f ORDER BY id", "SELECT id, @ OVER (PARTITION BY i) AS v FROM f ORDER BY id",
	}
	var statements []string
	for i, x := range []string{"whole", "part", "i::float8", "whole * part", "date_part('dow', at)", "date_part('day', at - '2024-01-01')", "(doc->>'v')::float8", "coalesce(part, 0.5)", "CASE WHEN i > 4 THEN part END", "-i::float8 / 2"} {
		for j, aggregate := range []string{"sum($)", "avg($)", "round(avg($)::numeric, 2)", "sum($) FILTER (WHERE i > 3)", "coalesce(avg($), 0)"} {
			for k, place := range places {
				if !everyPair(2, i, j, k) || strings.Contains(place, "OVER") && (strings.Contains(aggregate, "round") || strings.Contains(aggregate, "coalesce")) || strings.Contains(x, "day") && strings.Contains(place, "LATERAL") {
					continue
				}
				statements = append(statements, strings.NewReplacer("@", strings.ReplaceAll(aggregate, "$", x)).Replace(place))
			}
		}
	}
	wantAlikeIn(t, columnar, oltp, 0.75, statements)
	for _, aggregate := range []string{"sum(x)", "avg(x)"} {
		wantAlikeByRow(t, columnar, oltp, 0.3, []string{aggregate}, "w", 15)
	}
	wantAlikeIn(t, columnar, oltp, 0, []string{
		"SELECT sum(x), avg(x) FROM w WHERE id IN (0, 1)", "SELECT sum(x) FROM w WHERE id IN (1)", "SELECT sum(x), avg(x) FROM w WHERE id IN (10, 11, 13)", "SELECT sum(x) FROM w WHERE id IN (10, 14, 13)", "SELECT sum(x) FROM w WHERE id IN (10, 12)", "SELECT sum(whole::real), avg(part::real) FROM f",
		"SELECT sum(DISTINCT part) FROM f", "SELECT sum(0.1::float8), sum(0.5::float8) FROM f", "SELECT sum(NULL::float8) FROM f", "SELECT avg(v) FROM (SELECT avg(whole) AS v FROM f GROUP BY grp) x",
	})
}
