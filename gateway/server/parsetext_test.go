package server_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
)

// Of a constant text the engine computes the value as it reads the statement, and left out the guard that it is one.
func TestGateway_readsConstantTextsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, measures)
	oltp := g.connect(g.oltp.URL("postgres"))
	auto := g.client()
	for _, text := range []string{"2.5", " 2.5 ", "0x10", "7"} {
		for _, sql := range []string{
			"SELECT x FROM (SELECT $1::text::numeric AS x, id FROM sensor) y WHERE id < 4",
			"SELECT DISTINCT $1::text::numeric FROM sensor",
			"SELECT id FROM (SELECT $1::text AS x, id FROM sensor) y WHERE x::numeric > 3 ORDER BY id",
			"SELECT sensor FROM measure GROUP BY sensor HAVING count(*) > $1::text::numeric ORDER BY 1",
			"SELECT DISTINCT trunc($1::text::numeric)::int FROM sensor WHERE id > 100",
		} {
			wantSameAnswer(t, auto, oltp, strings.ReplaceAll(sql, "$1", "'"+text+"'"))
			var answers [2][]string
			for i, conn := range []*pgx.Conn{auto, oltp} {
				result := conn.PgConn().ExecParams(t.Context(), sql, [][]byte{[]byte(text)}, nil, nil, nil).Read()
				if answers[i] = texts(result.Rows); result.Err != nil {
					t.Errorf("%s with %q: %v", sql, text, result.Err)
				}
			}
			if diff := cmp.Diff(answers[1], answers[0]); diff != "" {
				t.Errorf("%s with %q differs (-PostgreSQL +Freshet):\n%s", sql, text, diff)
			}
		}
	}
}

// Digits of texts are read as the nearest float, however many there are.
func TestGateway_readsTextsAsFloatsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	columnar, oltp := start(t, `CREATE TABLE digits (id int PRIMARY KEY, s text COLLATE "C", doc jsonb);
INSERT INTO digits SELECT i, CASE WHEN i % 4 = 0 THEN '-1' ELSE '' END || substr(translate(md5(i::text), 'abcdef', '493827'), 1, 1 + i % 17) || CASE WHEN i % 5 > 0 THEN '.' || substr(translate(md5((-i)::text), 'abcdef', '501678'), 1, 1 + i % 17) ELSE '' END FROM generate_series(1, 6000) i;
INSERT INTO digits VALUES (0, NULL), (-1, '9007199254740993'), (-2, '0.1'), (-3, '999999999999999999.999999999999999999'), (-4, '0'), (-5, '000.50');
UPDATE digits SET doc = jsonb_build_object('v', s);
CREATE TABLE odd (id int PRIMARY KEY, s text COLLATE "C"); INSERT INTO odd SELECT ordinality - 1, v FROM unnest(ARRAY['-0', '-0.00', '1e5', ' 7', '.5', '5.', 'NaN', '-Infinity', '', 'x', '1234567890123456789', '+1']) WITH ORDINALITY t(v, ordinality)`).routes()
	wantAlikeIn(t, columnar, oltp, 1, []string{
		"SELECT id, s::float8 FROM digits ORDER BY id", "SELECT id, (doc->>'v')::double precision * 2 FROM digits ORDER BY id", "SELECT max(s::float8), min(s::float8), count(s::float8), percentile_cont(0.5) WITHIN GROUP (ORDER BY s::float8) FROM digits", "SELECT id FROM digits WHERE s::float8 > 1000.5 ORDER BY s::float8 DESC, id LIMIT 50",
		"SELECT round((s::float8)::numeric, 2), count(*) FROM digits WHERE id > 0 AND id % 17 < 7 GROUP BY 1 ORDER BY 1", "SELECT id, CASE WHEN s ~ '^[0-9.]+$' THEN s::float8 END FROM odd WHERE s !~ '^[.+]|[.]$' AND length(s) < 19 ORDER BY id",
	})
	wantAlikeByRow(t, columnar, oltp, 0, []string{"s::float8", "(s || '')::float8 + 1"}, "odd", 12)
}
