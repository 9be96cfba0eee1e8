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
