package postgres_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/e2e/stand"
)

const viewSchema = `DROP SCHEMA IF EXISTS front, public CASCADE; CREATE SCHEMA public; CREATE SCHEMA front; CREATE DOMAIN age AS int; CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE DOMAIN temper AS mood;
CREATE TABLE t (id int PRIMARY KEY, a age, at timestamptz); CREATE TABLE front.hidden (id int PRIMARY KEY);
CREATE VIEW v AS SELECT id, a AS years, at > '2024-05-06 07:08:09' AS late FROM t; CREATE VIEW hidden AS SELECT 1 AS one;
CREATE VIEW moody AS SELECT id, 'sad'::mood::text AS m FROM t; CREATE VIEW moods AS SELECT id FROM t WHERE 'sad' = ANY (('{sad}'::temper[])::text[])`

func (b *testbed) view(path, name string) *cdc.View {
	b.t.Helper()
	v, err := b.source.View(stand.Within(b.t, 10*time.Second), strings.Fields(path), name)
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

func TestView_isPrintedForAnySession(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, viewSchema)
	b.exec(`ALTER ROLE CURRENT_USER SET DateStyle = 'German'; ALTER ROLE CURRENT_USER SET search_path = public`)
	v := b.view("pg_catalog front public", "v")
	if v == nil {
		t.Fatal("no view")
	}
	if v.FullName() != "public.v" || v.Owner == 0 || v.Barrier {
		t.Errorf("view %+v", v)
	}
	if !strings.Contains(v.Query, "FROM public.t") || !strings.Contains(v.Query, "'2024-05-06 ") || !strings.Contains(v.Query, "+00'") {
		t.Errorf("query: %s", v.Query)
	}
	want := []cdc.ViewColumn{{Name: "id", Type: 23, Attr: 1}, {Name: "years", Type: 23, Attr: 2}, {Name: "late", Type: 16, Attr: 3}}
	if d := cmp.Diff(want, v.Columns); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
	versions, err := b.source.Versions(t.Context(), []cdc.TableID{v.ID})
	if err != nil || versions[v.ID] != v.Version {
		t.Errorf("version %q, and %v, %v", v.Version, versions, err)
	}
	if len(v.Reads) != 1 {
		t.Errorf("it reads %v", v.Reads)
	}
	for path, name := range map[string]string{"public": "t", "front public": "hidden", "front": "v", "public front": "absent"} {
		if v := b.view(path, name); v != nil {
			t.Errorf("%s in %s is %+v, want no view", name, path, v)
		}
	}
	b.exec("ALTER VIEW v SET (security_barrier = on, security_invoker = true)")
	if v := b.view("public", "v"); v.Owner != 0 || !v.Barrier {
		t.Errorf("with options: %+v", v)
	}
}

func TestView_versionChangesWithItsDefinition(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, viewSchema)
	for _, c := range []struct {
		name, ddl      string
		changes, reads bool
	}{
		{"rows", "INSERT INTO t VALUES (1)", false, false},
		{"grant", "GRANT SELECT ON v TO PUBLIC", false, false},
		{"the same query again", "CREATE OR REPLACE VIEW v AS SELECT id, a AS years, at > '2024-05-06 07:08:09' AS late FROM t", true, false},
		{"another query", "CREATE OR REPLACE VIEW v AS SELECT 1 AS id, a AS years, true AS late FROM t", true, false},
		{"another owner", "CREATE ROLE another; ALTER VIEW v OWNER TO another", true, false},
		{"options", "ALTER VIEW v SET (security_invoker = true)", true, false},
		{"a column's name", "ALTER VIEW v RENAME COLUMN id TO number", true, false},
		{"its name", "ALTER VIEW v RENAME TO w; ALTER VIEW w RENAME TO v; ALTER VIEW v SET SCHEMA front; CREATE VIEW v AS TABLE front.v", true, true},
		{"a table's column", "ALTER TABLE t RENAME COLUMN at TO moment", false, true},
		{"a table's name", "ALTER TABLE t RENAME TO u", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.exec(viewSchema)
			before := b.view("public", "v")
			b.exec(c.ddl)
			after := b.view("public", "v")
			if (before.Version != after.Version) != c.changes {
				t.Errorf("version %s, then %s: want a change: %t", before.Version, after.Version, c.changes)
			}
			if cmp.Equal(before.Reads, after.Reads) == c.reads {
				t.Errorf("it reads %v, then %v: want a change: %t", before.Reads, after.Reads, c.reads)
			}
		})
	}
}

// A view's query is printed with the names that types and labels have at that time. PostgreSQL goes by the types and labels themselves.
func TestView_versionChangesWithTheTypesOfItsConstants(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, viewSchema)
	for _, c := range []struct {
		name, ddl string
		changes   bool
	}{
		{"rows", "INSERT INTO t VALUES (1)", false},
		{"another type", "CREATE TYPE other AS ENUM ('sad'); ALTER TYPE other RENAME VALUE 'sad' TO 'blue'", false},
		{"a label's name", "ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'", true},
		{"labels that swap names", "ALTER TYPE mood RENAME VALUE 'sad' TO 'x'; ALTER TYPE mood RENAME VALUE 'glad' TO 'sad'; ALTER TYPE mood RENAME VALUE 'x' TO 'glad'", true},
		{"another label", "ALTER TYPE mood ADD VALUE 'calm'", true},
		{"the type's name", "ALTER TYPE mood RENAME TO spirit; CREATE TYPE mood AS ENUM ('sad')", true},
		{"the type's schema", "ALTER TYPE mood SET SCHEMA front; CREATE TYPE mood AS ENUM ('sad')", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.exec(viewSchema)
			before := map[string]string{"moody": b.view("public", "moody").Version, "moods": b.view("public", "moods").Version}
			b.exec(c.ddl)
			for name, version := range before {
				if after := b.view("public", name).Version; (version != after) != c.changes {
					t.Errorf("view %s, version %s, then %s: want a change: %t", name, version, after, c.changes)
				}
			}
		})
	}
}
