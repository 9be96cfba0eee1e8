package server_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const events = `CREATE SCHEMA app; CREATE TYPE app.kind AS ENUM ('view', 'purchase', 'it''s'); CREATE TYPE plan AS ENUM ('free', 'pro'); CREATE DOMAIN paid AS plan CHECK (VALUE <> 'free');
CREATE TABLE event (id int PRIMARY KEY, kind app.kind, plan plan, j jsonb);
INSERT INTO event SELECT i, (ARRAY['view', 'purchase', 'it''s', NULL])[i % 4 + 1]::app.kind, (ARRAY['free', 'pro'])[i % 2 + 1]::plan, jsonb_build_object('n', i % 3, 's', (ARRAY['a', 'é'])[i % 2 + 1]) FROM generate_series(1, 60) i;
CREATE VIEW bought AS SELECT id, plan FROM event WHERE kind = 'purchase';
CREATE VIEW labelled AS SELECT id, CASE WHEN kind IN ('view', 'it''s') THEN 'pro'::plan ELSE plan END AS plan, coalesce(kind, 'view') AS kind FROM event`

func TestGateway_comparesEnumerationsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := startWith(t, everySchema, events)
	columnar, oltp := g.routes()
	for _, sql := range []string{
		"SELECT count(*) FROM event WHERE kind = 'purchase'::app.kind", "SELECT count(*) FROM event WHERE CAST('pro' AS plan) <> plan", "SELECT count(*) FROM event WHERE plan = 'pro'::public.plan AND kind IN ('view'::app.kind, 'it''s')",
		"SELECT count(*) FILTER (WHERE kind = 'it''s'::app.kind), count(NULLIF(plan, 'pro'::plan)) FROM event", "SELECT id, CASE plan WHEN 'free'::plan THEN 1 END, coalesce(kind, 'view'::app.kind), plan::plan FROM event ORDER BY id",
		"SELECT 'free'::plan, NULL::plan, plan, count(*) FROM event GROUP BY plan ORDER BY 4, plan::text", "SELECT count(*) FROM event WHERE plan IS DISTINCT FROM 'pro'::plan", "SELECT 'pro'::plan::text || id FROM event ORDER BY id",
		"SELECT count(*) FROM event WHERE kind = ANY (ARRAY['view'::app.kind, 'purchase'])", "SELECT count(*) FROM event WHERE plan = 'pro'::text::plan AND kind IN ('view'::varchar::app.kind, 'view or so'::varchar(4)::app.kind)",
		"SELECT count(*) FROM bought", "SELECT plan, count(*) FROM bought GROUP BY plan ORDER BY 2, plan::text", "SELECT id, plan, kind FROM labelled ORDER BY id", "SELECT count(*) FROM labelled WHERE plan = 'pro' AND kind = 'view'::app.kind",
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
	wantAlikeIn(t, columnar, oltp, 0, []string{
		"SELECT count(*) FROM event WHERE plan = 'pro'::paid", "SELECT count(*) FROM event WHERE plan = 'free'::paid", "SELECT count(*) FROM event WHERE plan = 'pr'::text::plan", "SELECT count(*) FROM event WHERE plan = 'pro'::char(4)::plan", "SELECT count(*) FROM event WHERE plan > 'free'::plan", "SELECT count(*) FROM event WHERE 'x'::pg_catalog.xml IS NULL",
		"SELECT count(*) FROM event WHERE kind = ANY ('{view}'::app.kind[])",
	})
	auto := g.client()
	exec(t, auto, "SET search_path = app, public")
	exec(t, oltp, "SET search_path = app, public")
	for _, sql := range []string{"SELECT count(*) FROM event WHERE kind = 'view'::kind", "SELECT count(*) FROM event WHERE kind = 'nothing'::kind"} {
		wantSameOutcome(t, auto, oltp, sql)
	}
}

// Drivers bind labels as texts, in either format.
func TestGateway_takesLabelsAndDocumentsAsParameters(t *testing.T) {
	t.Parallel()
	g := startWith(t, everySchema, events)
	columnar, oltp := g.routes()
	auto := g.client()
	for _, c := range []struct {
		sql      string
		value    string
		replicas bool
	}{
		{"SELECT id FROM event WHERE kind = $1 ORDER BY id", "purchase", true},
		{"SELECT id FROM event WHERE plan IN ($1, 'free') ORDER BY id", "pro", true},
		{"SELECT count(*) FILTER (WHERE kind = $1) FROM event", "it's", true},
		{"SELECT count(*) FROM event WHERE kind = $1::app.kind", "view", true},
		{"SELECT count(*) FROM event WHERE kind IS DISTINCT FROM $1", "view", true},
		{"SELECT count(*) FROM event WHERE kind = $1::varchar::app.kind", "view", true},
		{"SELECT count(*) FROM event WHERE kind = $1::varchar::app.kind", "View", false},
		{"SELECT count(*) FROM event WHERE kind = $1", "View", false},
		{"SELECT count(*) FROM event WHERE kind = $1", "", false},
		{"SELECT count(*) FROM event WHERE plan = $1::paid", "free", false},
		{"SELECT id FROM event WHERE kind = ANY ($1) ORDER BY id", "{view,\"it's\",NULL}", true},
		{"SELECT id FROM event WHERE plan <> ALL ($1) ORDER BY id", "{pro}", true},
		{"SELECT id FROM event WHERE plan = ANY ($1) ORDER BY id", "{}", true},
		{"SELECT id FROM event WHERE plan = ANY ($1) ORDER BY id", "{pro,view}", false},
		{"SELECT id FROM event WHERE j @> $1 ORDER BY id", `{"n": 1, "s": "é"}`, true},
		{"SELECT id FROM event WHERE j @> $1::jsonb ORDER BY id", `{"n":2}`, true},
		{"SELECT id FROM event WHERE j @> $1 ORDER BY id", `{"n":2}}`, false},
		{"SELECT id FROM event WHERE j @> $1 ORDER BY id", `{"s": "\ud800"}`, false},
		{"SELECT id FROM event WHERE j @> $1 ORDER BY id", `{"s": "\u0000"}`, false},
	} {
		for format := range int16(2) {
			value := []byte(c.value)
			switch {
			case format == 0:
			case strings.Contains(c.sql, "@>"):
				value = append([]byte{1}, value...)
			case strings.Contains(c.sql, "ANY"), strings.Contains(c.sql, "ALL"):
				continue // as pgtype has no such array
			}
			want := labelOutcome(t, oltp, c.sql, value, format)
			if got := labelOutcome(t, auto, c.sql, value, format); !slices.Equal(got, want) {
				t.Errorf("%s with %q in format %d: %v, PostgreSQL says %v", c.sql, value, format, got, want)
			}
			got := labelOutcome(t, columnar, c.sql, value, format)
			if c.replicas && !slices.Equal(got, want) {
				t.Errorf("%s with %q in format %d on the replica: %v, PostgreSQL says %v", c.sql, value, format, got, want)
			}
			if !c.replicas && !slices.Equal(got, want) && !slices.Equal(got, []string{"SQLSTATE 0A000"}) && !slices.Equal(got, []string{"SQLSTATE 55000"}) {
				t.Errorf("%s with %q in format %d ran on the replica: %v", c.sql, value, format, got)
			}
		}
	}
}

// A label that is renamed is one no longer.
func TestGateway_forgetsLabelsThatAreRenamed(t *testing.T) {
	t.Parallel()
	g := startWith(t, everySchema, events)
	auto, direct := g.client(), g.connect(g.oltp.URL("postgres"))
	exec(t, auto, "SET freshet.freshness = strong")
	const sql = "SELECT count(*) FROM event WHERE kind = $1"
	for _, label := range []string{"view", "seen"} {
		if want, got := labelOutcome(t, direct, sql, []byte(label), 0), labelOutcome(t, auto, sql, []byte(label), 0); !slices.Equal(got, want) {
			t.Errorf("%s: %v, PostgreSQL says %v", label, got, want)
		}
	}
	exec(t, direct, "ALTER TYPE app.kind RENAME VALUE 'view' TO 'seen'")
	for _, label := range []string{"view", "seen"} {
		if want, got := labelOutcome(t, direct, sql, []byte(label), 0), labelOutcome(t, auto, sql, []byte(label), 0); !slices.Equal(got, want) {
			t.Errorf("%s after it was renamed: %v, PostgreSQL says %v", label, got, want)
		}
	}
}

// No table has the enumeration, so that none is defined anew when it changes. A view goes by its labels, however they are called.
func TestGateway_goesByEnumerationsThatNoTableHas(t *testing.T) {
	t.Parallel()
	g := startWith(t, everySchema, `CREATE SCHEMA front; CREATE TYPE grade AS ENUM ('low', 'high'); CREATE TABLE note (id int PRIMARY KEY, grade text);
		INSERT INTO note SELECT i, (ARRAY['low', 'high', 'high'])[i % 3 + 1] FROM generate_series(1, 30) i;
		CREATE VIEW graded AS SELECT id, 'high'::grade::text AS g FROM note WHERE note.grade = 'low'::grade::text`)
	auto, direct := g.client(), g.connect(g.oltp.URL("postgres"))
	exec(t, auto, "SET freshet.freshness = strong")
	exec(t, auto, "SET search_path = front, public")
	exec(t, direct, "SET search_path = front, public")
	statements := []string{
		"SELECT count(*), min('high'::grade::text) FROM note", "SELECT count(*) FROM note WHERE grade = 'low'::grade::text", "SELECT count(*), min('low'::public.grade::text) FROM note", "SELECT count(*), min(g) FROM graded",
	}
	for _, sql := range statements {
		exec(t, auto, sql)
		if route := query(t, auto, "SHOW freshet.last_route"); !slices.Equal(route, []string{"columnar"}) {
			t.Errorf("%s ran on %s", sql, route)
		}
	}
	for _, ddl := range []string{
		"ALTER TYPE grade RENAME VALUE 'low' TO 'least'", "ALTER TYPE grade RENAME VALUE 'least' TO 'low'",
		"BEGIN; ALTER TYPE grade RENAME VALUE 'low' TO 'x'; ALTER TYPE grade RENAME VALUE 'high' TO 'low'; ALTER TYPE grade RENAME VALUE 'x' TO 'high'; COMMIT",
		"CREATE DOMAIN front.grade AS varchar(1)", "DROP DOMAIN front.grade", "ALTER TYPE public.grade RENAME TO mark", "CREATE TYPE public.grade AS ENUM ('high', 'low')",
	} {
		exec(t, direct, ddl)
		for _, sql := range statements {
			if want, got := outcome(t, direct, sql), outcome(t, auto, sql); !slices.Equal(got, want) {
				t.Errorf("%s after %s: %v, PostgreSQL says %v", sql, ddl, got, want)
			}
		}
	}
}

// labelOutcome is the first column of a statement's answer with a parameter, or its error.
func labelOutcome(t *testing.T, c *pgx.Conn, sql string, value []byte, format int16) []string {
	t.Helper()
	r := c.PgConn().ExecParams(t.Context(), sql, [][]byte{value}, nil, []int16{format}, nil).Read()
	if r.Err != nil {
		refused, ok := errors.AsType[*pgconn.PgError](r.Err)
		if !ok {
			t.Fatalf("%s with %q: %v", sql, value, r.Err)
		}
		return []string{"SQLSTATE " + refused.Code}
	}
	rows := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		rows[i] = string(row[0])
	}
	return rows
}
