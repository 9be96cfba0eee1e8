package syntax

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestClassify_tellsStatementsApart(t *testing.T) {
	tests := []struct {
		sql  string
		want Class
	}{
		{"SELECT a FROM t WHERE b > 1", Class{Candidate: true}},
		{"SELECT a FROM s.t WHERE k = $1 AND 5 = l", Class{Candidate: true, Parameters: true,
			Point: &Point{Schema: "s", Table: "t", Columns: []string{"k", "l"}}}},
		{"SELECT 1", Class{FromLess: true}},
		{"SELECT pg_catalog.format_type(a.atttypid, NULL) FROM pg_catalog.pg_attribute AS a, information_schema.tables", Class{FromLess: true}},
		{"SELECT relname FROM pg_catalog.pg_class, t", Class{Candidate: true}},
		{"SELECT typname FROM pg_type JOIN pg_catalog.pg_class c ON c.reltype = oid", Class{Candidate: true, Catalogs: true}},
		{"SELECT count(*) FROM pg_orders, pg_type", Class{Candidate: true}},
		{"WITH t AS (SELECT 1 AS a) SELECT a FROM t WHERE a = 1", Class{FromLess: true}},
		{"WITH t AS (SELECT * FROM t) SELECT a FROM t WHERE a = 1", Class{Candidate: true}},
		{"WITH t AS (SELECT 1), u AS (SELECT * FROM t) SELECT a FROM u", Class{FromLess: true}},
		{"WITH u AS (SELECT * FROM t), t AS (SELECT 1) SELECT a FROM u", Class{Candidate: true}},
		{"WITH RECURSIVE t AS (SELECT 1 UNION ALL SELECT * FROM t) SELECT a FROM t", Class{FromLess: true}},
		{"SELECT (WITH t AS (SELECT 1) SELECT count(*) FROM t) FROM t", Class{Candidate: true}},
		{"WITH t AS (SELECT 1) SELECT (SELECT count(*) FROM t) UNION SELECT a FROM (WITH s AS (SELECT 2) SELECT * FROM s, t) x", Class{FromLess: true}},
		{"WITH t AS (SELECT 1) SELECT a FROM s.t", Class{Candidate: true}},
		{"SELECT loid FROM pg_catalog.pg_largeobject", Class{Candidate: true}},
		{"SELECT a FROM t WHERE b < $1", Class{Candidate: true, Parameters: true}},
		{"SELECT a FROM t WHERE b ~ '^.*$' OR b = $$1$$", Class{Candidate: true}},
		{"SELECT a FROM t FOR SHARE", Class{}},
		{"SELECT a INTO u FROM t", Class{Writes: true}},
		{"WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d, t", Class{Writes: true}},
		{"SELECT set_config('a', 'b', false) FROM t", Class{Writes: true}},
		{"SELECT xmlelement(name a, nextval('s')) FROM t", Class{Writes: true}},
		{"SELECT xmlelement(name a, b), (c).d[1:$1] FROM t", Class{Candidate: true, Parameters: true}},
		{"SELECT a FROM t TABLESAMPLE SYSTEM (10)", Class{Candidate: true}},
		{"SELECT a FROM t TABLESAMPLE SYSTEM (nextval('s'))", Class{Writes: true}},
		{"SELECT json_object('a': (SELECT max(b) FROM t))", Class{Candidate: true}},
		{"SELECT json_array(SELECT b FROM t)", Class{Candidate: true}},
		{"SELECT json_arrayagg(set_config('a', b, false) ORDER BY b) FROM t", Class{Writes: true}},
		{"SELECT * FROM json_table('[1]', '$[*]' COLUMNS (a int PATH '$')) j", Class{FromLess: true}},
		{"SELECT jsonb_typeof(d), to_tsvector(d), row_to_json(t), current_setting('app.tenant') FROM t", Class{Candidate: true}},
		{"SELECT table_to_xml('t', true, true, '')", Class{Writes: true, FromLess: true}},
		{"SELECT make_interval(days => nextval('s')::int) FROM t", Class{Writes: true}},
		{"SELECT nextval('s')", Class{Writes: true, FromLess: true}},
		{"SELECT a FROM t; SELECT b FROM t", Class{}},
		{"UPDATE t SET a = 1", Class{Writes: true}},
		{"BEGIN", Class{Writes: true}},
		{"SET x.y = 'z'", Class{Writes: true}},
		{"SHOW TimeZone", Class{}},
		{"/* a (b) */ -- c)\nexplain ( freshet ) SELECT (a) FROM t", Class{ExplainFreshet: true, Explained: "SELECT (a) FROM t"}},
		{"EXPLAIN (FRESHET) SELECT a FROM t", Class{ExplainFreshet: true, Explained: "SELECT a FROM t"}},
		{"", Class{}},
		{"SELEC 1", Class{Writes: true}},
	}
	for _, tt := range tests {
		got := Classify(tt.sql)
		if d := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Class{}, "Reason")); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.sql, d)
		}
		if got.Candidate != (got.Reason == "") {
			t.Errorf("%s: candidate %v with reason %q", tt.sql, got.Candidate, got.Reason)
		}
	}
}
