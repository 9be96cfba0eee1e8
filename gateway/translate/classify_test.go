package translate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/freshet-io/freshet/gateway/translate"
)

func TestClassify_tellsStatementsApart(t *testing.T) {
	tests := []struct {
		sql  string
		want translate.Class
	}{
		{"SELECT a FROM t WHERE b > 1", translate.Class{Candidate: true}},
		{"SELECT a FROM s.t WHERE k = $1 AND 5 = l", translate.Class{Candidate: true, Parameters: true,
			Point: &translate.Point{Schema: "s", Table: "t", Columns: []string{"k", "l"}}}},
		{"SELECT 1", translate.Class{FromLess: true}},
		{"SELECT pg_catalog.format_type(a.atttypid, NULL) FROM pg_catalog.pg_attribute AS a, information_schema.tables", translate.Class{FromLess: true}},
		{"SELECT relname FROM pg_catalog.pg_class, t", translate.Class{Candidate: true}},
		{"SELECT loid FROM pg_catalog.pg_largeobject", translate.Class{Candidate: true}},
		{"SELECT a FROM t WHERE b < $1", translate.Class{Candidate: true, Parameters: true}},
		{"SELECT a FROM t WHERE b ~ '^.*$' OR b = $$1$$", translate.Class{Candidate: true}},
		{"SELECT a FROM t FOR SHARE", translate.Class{}},
		{"SELECT a INTO u FROM t", translate.Class{Writes: true}},
		{"WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d, t", translate.Class{Writes: true}},
		{"SELECT set_config('a', 'b', false) FROM t", translate.Class{Writes: true}},
		{"SELECT xmlelement(name a, nextval('s')) FROM t", translate.Class{Writes: true}},
		{"SELECT xmlelement(name a, b), (c).d[1:$1] FROM t", translate.Class{Candidate: true, Parameters: true}},
		{"SELECT a FROM t TABLESAMPLE SYSTEM (10)", translate.Class{Candidate: true}},
		{"SELECT a FROM t TABLESAMPLE SYSTEM (nextval('s'))", translate.Class{Writes: true}},
		{"SELECT json_object('a': (SELECT max(b) FROM t))", translate.Class{Candidate: true}},
		{"SELECT json_array(SELECT b FROM t)", translate.Class{Candidate: true}},
		{"SELECT json_arrayagg(set_config('a', b, false) ORDER BY b) FROM t", translate.Class{Writes: true}},
		{"SELECT * FROM json_table('[1]', '$[*]' COLUMNS (a int PATH '$')) j", translate.Class{FromLess: true}},
		{"SELECT jsonb_typeof(d), to_tsvector(d), row_to_json(t), current_setting('app.tenant') FROM t", translate.Class{Candidate: true}},
		{"SELECT table_to_xml('t', true, true, '')", translate.Class{Writes: true, FromLess: true}},
		{"SELECT make_interval(days => nextval('s')::int) FROM t", translate.Class{Writes: true}},
		{"SELECT nextval('s')", translate.Class{Writes: true, FromLess: true}},
		{"SELECT a FROM t; SELECT b FROM t", translate.Class{}},
		{"UPDATE t SET a = 1", translate.Class{Writes: true}},
		{"BEGIN", translate.Class{Writes: true}},
		{"SET x.y = 'z'", translate.Class{Writes: true}},
		{"SHOW TimeZone", translate.Class{}},
		{"EXPLAIN (FRESHET) SELECT a FROM t", translate.Class{ExplainFreshet: true, Explained: "SELECT a FROM t"}},
		{"", translate.Class{}},
		{"SELEC 1", translate.Class{Writes: true}},
	}
	for _, tt := range tests {
		got := translate.Classify(tt.sql)
		if d := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(translate.Class{}, "Reason")); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.sql, d)
		}
		if got.Candidate != (got.Reason == "") {
			t.Errorf("%s: candidate %v with reason %q", tt.sql, got.Candidate, got.Reason)
		}
	}
}

func BenchmarkTranslate(b *testing.B) {
	const sql = "SELECT i.name, sum(l.quantity), avg(i.price) FROM line l JOIN item i ON i.id = l.item WHERE l.at >= '2024-01-01' AND i.name LIKE 'a%' GROUP BY i.name ORDER BY 2 DESC LIMIT 10"
	env := translate.Env{Catalog: shop{}, TimeZone: "UTC", Fields: []translate.Field{{TypeOID: 25}, {TypeOID: 20}, {TypeOID: 1700}}}
	for b.Loop() {
		tree, err := translate.Parse(sql)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := translate.Translate(tree, env); err != nil {
			b.Fatal(err)
		}
	}
}
