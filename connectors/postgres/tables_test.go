package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/pgserver"
)

const assortedSchema = `
CREATE COLLATION nondeterministic (provider = icu, locale = 'und', deterministic = false);
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE DOMAIN money_amount AS numeric(10,2);
CREATE DOMAIN price AS money_amount CHECK (VALUE > 0);
CREATE SCHEMA other;
CREATE TABLE good (id bigint PRIMARY KEY, p price, m mood, t text COLLATE "C", u text NOT NULL, c text COLLATE "en-x-icu",
	double_id bigint GENERATED ALWAYS AS (id * 2) STORED);
CREATE TABLE by_index (a int NOT NULL, b int, UNIQUE (a)); ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_a_key;
CREATE TABLE full_unique (a int, b int NOT NULL, UNIQUE (a), UNIQUE (b)); ALTER TABLE full_unique REPLICA IDENTITY FULL;
CREATE TABLE full_keyless (a int); ALTER TABLE full_keyless REPLICA IDENTITY FULL;
CREATE TABLE keyless (a int, b int);
CREATE TABLE nothing (a int PRIMARY KEY); ALTER TABLE nothing REPLICA IDENTITY NOTHING;
CREATE TABLE deferred (a int PRIMARY KEY DEFERRABLE);
CREATE TABLE arrays (a int PRIMARY KEY, b interval[], c int);
CREATE TABLE by_ids (a int[] PRIMARY KEY, b text[], c int);
CREATE TABLE by_prices (a numeric[] PRIMARY KEY, b int);
CREATE TABLE by_array (a interval[] PRIMARY KEY, b int);
CREATE TABLE by_other (a interval[] PRIMARY KEY, b int UNIQUE NOT NULL); ALTER TABLE by_other REPLICA IDENTITY FULL;
CREATE TABLE virtual (a int PRIMARY KEY, b int GENERATED ALWAYS AS (a + 1), c int);
CREATE TABLE whole_virtual (a int PRIMARY KEY, b int GENERATED ALWAYS AS (a + 1)); ALTER TABLE whole_virtual REPLICA IDENTITY FULL;
CREATE TABLE parted_virtual (a int PRIMARY KEY, b int GENERATED ALWAYS AS (a + 1)) PARTITION BY RANGE (a);
CREATE TABLE parted_virtual_1 PARTITION OF parted_virtual DEFAULT; ALTER TABLE parted_virtual_1 REPLICA IDENTITY FULL;
CREATE TABLE secured (a int PRIMARY KEY); ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE TABLE parent (a int PRIMARY KEY); CREATE TABLE child (b int) INHERITS (parent);
CREATE TABLE fuzzy (a int PRIMARY KEY, b text COLLATE nondeterministic);
CREATE TABLE by_fuzzy (a text COLLATE nondeterministic PRIMARY KEY);
CREATE UNLOGGED TABLE unlogged (a int PRIMARY KEY);
CREATE TABLE parted (a int PRIMARY KEY) PARTITION BY RANGE (a);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES FROM (0) TO (10);
CREATE TABLE parted_nothing (a int PRIMARY KEY, b int) PARTITION BY RANGE (a); ALTER TABLE parted_nothing REPLICA IDENTITY NOTHING;
CREATE TABLE parted_nothing_1 PARTITION OF parted_nothing DEFAULT;
CREATE TABLE parted_full (a int PRIMARY KEY, b int) PARTITION BY RANGE (a); ALTER TABLE parted_full REPLICA IDENTITY FULL;
CREATE TABLE parted_full_1 PARTITION OF parted_full DEFAULT;
CREATE TABLE mixed (a int PRIMARY KEY) PARTITION BY RANGE (a);
CREATE TABLE mixed_1 PARTITION OF mixed FOR VALUES FROM (0) TO (10); ALTER TABLE mixed_1 REPLICA IDENTITY NOTHING;
CREATE TABLE other.elsewhere (a int PRIMARY KEY);
CREATE TABLE skipped_1 (a int PRIMARY KEY);
CREATE VIEW v AS SELECT 1 AS a;
`

func TestTables_saysWhichCanBeReplicatedAndWhyNot(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, assortedSchema, func(c *postgres.Config) { c.Exclude = []string{"public.skipped_*"} })
	found, err := b.source.Tables(stand.Within(t, 20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]cdc.Code{}
	for _, d := range found {
		got[d.Table.Schema+"."+d.Table.Name] = ""
		if d.Stopped != nil {
			got[d.Table.Schema+"."+d.Table.Name] = d.Stopped.Code
			if d.Stopped.Remedy == "" || d.Stopped.Detail == "" {
				t.Errorf("%v lacks detail or remedy", d.Stopped)
			}
		} else if len(d.Table.Key) == 0 {
			t.Errorf("%s.%s has no key", d.Table.Schema, d.Table.Name)
		}
	}
	want := map[string]cdc.Code{
		"public.good": "", "public.by_index": "", "public.full_unique": "", "public.parted": "", "public.parted_nothing": "", "public.parted_full": "",
		"public.full_keyless": cdc.CodeNoKey, "public.keyless": cdc.CodeNoKey, "public.nothing": cdc.CodeNoKey,
		"public.deferred": cdc.CodeNoKey, "public.mixed": cdc.CodeNoKey, "public.child": cdc.CodeNoKey,
		"public.arrays": "", "public.by_other": "", "public.virtual": "", "public.fuzzy": "",
		"public.by_ids": "", "public.by_prices": cdc.CodeNoKey, "public.by_array": cdc.CodeUnsupportedType, "public.by_fuzzy": cdc.CodeUnsupportedType,
		"public.whole_virtual": cdc.CodeConfiguration, "public.parted_virtual": cdc.CodeConfiguration,
		"public.secured": cdc.CodeConfiguration, "public.parent": cdc.CodeConfiguration,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tables differ (-want +got):\n%s", diff)
	}
	// Publishing a table without a key, or with a virtual column in its replica identity, would make these fail.
	b.exec("INSERT INTO keyless VALUES (1, 1)", "UPDATE keyless SET b = 2", "INSERT INTO nothing VALUES (1)", "DELETE FROM nothing",
		"INSERT INTO whole_virtual VALUES (1)", "UPDATE whole_virtual SET a = 2", "INSERT INTO parted_virtual VALUES (1)", "DELETE FROM parted_virtual",
		"INSERT INTO mixed VALUES (1)", "UPDATE mixed SET a = 2")
}

func TestTables_describesColumnsAndKey(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, assortedSchema)
	found, err := b.source.Tables(stand.Within(t, 20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]*cdc.Table{}
	for _, d := range found {
		got[d.Table.Name] = d.Table
	}
	good := *got["good"]
	price, mood := good.Columns[1].Domain, good.Columns[2].Type
	if price == 0 {
		t.Error("the domain is not told")
	}
	if good.Version == "" {
		t.Error("the definition has no version")
	}
	good.ID, good.Version = 0, ""
	want := cdc.Table{
		Schema: "public", Name: "good", Key: []int{0}, Enums: map[uint32][]string{mood: {"sad", "happy"}},
		Columns: []cdc.Column{
			{Name: "id", Type: 20, Modifier: -1, NotNull: true, Attr: 1, BytewiseCollation: true},
			{Name: "p", Type: 1700, Domain: price, Modifier: (10<<16 | 2) + 4, Attr: 2, BytewiseCollation: true},
			{Name: "m", Type: mood, Modifier: -1, Attr: 3, BytewiseCollation: true, Enum: true},
			{Name: "t", Type: 25, Modifier: -1, Attr: 4, BytewiseCollation: true, Collation: `pg_catalog."C"`},
			{Name: "u", Type: 25, Modifier: -1, NotNull: true, Attr: 5, BytewiseCollation: true},
			{Name: "c", Type: 25, Modifier: -1, Attr: 6, Collation: `pg_catalog."en-x-icu"`},
			{Name: "double_id", Type: 20, Modifier: -1, Attr: 7, BytewiseCollation: true},
		},
	}
	if diff := cmp.Diff(want, good); diff != "" {
		t.Errorf("definition differs (-want +got):\n%s", diff)
	}
	omitted := map[string][]cdc.OmittedColumn{}
	for _, name := range []string{"arrays", "virtual", "fuzzy", "by_other"} {
		omitted[name] = got[name].Omitted
	}
	column := func(name string, typ uint32, attr int16) cdc.Column {
		return cdc.Column{Name: name, Type: typ, Modifier: -1, NotNull: name == "a", Attr: attr, BytewiseCollation: true}
	}
	fuzzy := cdc.Column{Name: "b", Type: 25, Modifier: -1, Attr: 2, Collation: "public.nondeterministic"}
	wantOmitted := map[string][]cdc.OmittedColumn{
		"arrays": {{Column: column("b", 1187, 2), Code: cdc.CodeUnsupportedType, Detail: "has type interval[]", Remedy: "change the column's type"}},
		"virtual": {{Column: column("b", 23, 2), Code: cdc.CodeUnsupportedType, Detail: "is a virtual generated column, which is not streamed",
			Remedy: "make the column STORED (PostgreSQL 18)"}},
		"fuzzy": {{Column: fuzzy, Code: cdc.CodeUnsupportedType, Detail: "has a nondeterministic collation",
			Remedy: "use a deterministic collation"}},
		"by_other": {{Column: column("a", 1187, 1), Code: cdc.CodeUnsupportedType, Detail: "has type interval[]", Remedy: "change the column's type"}},
	}
	if diff := cmp.Diff(wantOmitted, omitted); diff != "" {
		t.Errorf("columns left out differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{0}, got["by_index"].Key); diff != "" {
		t.Errorf("key of by_index: %s", diff)
	}
	if diff := cmp.Diff([]int{1}, got["full_unique"].Key); diff != "" {
		t.Errorf("key of full_unique: %s", diff)
	}
}

func TestTables_followsKeysOfEveryKindByOneCopy(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, assortedSchema)
	b.follow()
	b.same()
	copies := b.model.Copies()
	b.exec("INSERT INTO by_index VALUES (1, 1), (2, NULL)", "UPDATE by_index SET b = 5", "UPDATE by_index SET a = 7 WHERE a = 1",
		"DELETE FROM by_index WHERE a = 2",
		"INSERT INTO full_unique VALUES (NULL, 1), (2, 2)", "UPDATE full_unique SET a = 5 WHERE b = 1", "UPDATE full_unique SET b = 9 WHERE b = 2",
		"DELETE FROM full_unique WHERE b = 1",
		"INSERT INTO arrays VALUES (1, '{1,2}', 3), (2, NULL, 4)", "UPDATE arrays SET c = 5, b = '{}'", "UPDATE arrays SET a = 9 WHERE a = 1",
		"INSERT INTO by_other VALUES ('{1}', 1), ('{2}', 2)", "UPDATE by_other SET a = '{3}' WHERE b = 1", "UPDATE by_other SET b = 5 WHERE b = 2",
		"INSERT INTO by_ids VALUES ('{1,2}', '{a,NULL,\"b c\"}', 1), ('{}', NULL, 2), ('[0:0]={3}', '{{x}}', 3)", "UPDATE by_ids SET c = 5 WHERE a = '{}'", "UPDATE by_ids SET a = '{7}' WHERE c = 3",
		"UPDATE by_ids SET b = (SELECT array_agg(md5(i::text)) FROM generate_series(1, 1000) i)", "UPDATE by_ids SET c = c + 1", "DELETE FROM by_ids WHERE a = '{1,2}'",
		"INSERT INTO virtual (a, c) VALUES (1, 1), (2, 2)", "UPDATE virtual SET c = 7 WHERE a = 1", "UPDATE virtual SET a = 8 WHERE a = 2",
		"INSERT INTO fuzzy VALUES (1, 'x'), (2, 'y')", "DELETE FROM fuzzy WHERE b = 'x'",
		"INSERT INTO good (id, p, m, t, u) VALUES (1, 2.50, 'sad', 'x', 'y'), (2, 1, 'happy', NULL, '')", "UPDATE good SET id = 3 WHERE id = 1")
	for _, parted := range []string{"parted_nothing", "parted_full"} {
		b.exec("INSERT INTO "+parted+" VALUES (1, 1), (2, 2)", "UPDATE "+parted+" SET b = 3 WHERE a = 1", "UPDATE "+parted+" SET a = 4 WHERE a = 1", "DELETE FROM "+parted+" WHERE a = 2")
	}
	b.same()
	if n := b.model.Copies() - copies; n != 0 {
		t.Errorf("%d copies were taken anew", n)
	}
}

func TestTables_refusesServersThatCannotStream(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY); CREATE ROLE weak LOGIN PASSWORD 'weak'; CREATE PUBLICATION everything FOR ALL TABLES")
	ctx := stand.Within(t, 20*time.Second)
	for name, test := range map[string]struct {
		change func(*postgres.Config)
		code   cdc.Code
	}{
		"another system":       {func(c *postgres.Config) { c.SystemID = "4711" }, cdc.CodeSourceMismatch},
		"foreign publication":  {func(c *postgres.Config) { c.Publication = "everything" }, cdc.CodePublicationMismatch},
		"role without REPLICA": {func(c *postgres.Config) { c.URL = asRole(t, c.URL, "weak") }, cdc.CodePrivilege},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.newSource(test.change).Tables(ctx)
			sourcetest.WantTerminal(t, err, test.code)
		})
	}
	physical := stand.Postgres(t, func(c *pgserver.Config) { c.Settings = map[string]string{"wal_level": "replica"} })
	_, err := b.newSource(func(c *postgres.Config) { c.URL = physical.URL("postgres") }).Tables(ctx)
	sourcetest.WantTerminal(t, err, cdc.CodeConfiguration)
}

// On Amazon RDS roles may replicate without the attribute. A plain server refuses them only where replication begins.
func TestTables_acceptsMembersOfTheRoleThatReplicatesOnRDS(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, `CREATE ROLE rds_replication; CREATE ROLE member LOGIN PASSWORD 'member' IN ROLE rds_replication; GRANT CREATE ON DATABASE postgres TO member;
		CREATE ROLE other LOGIN PASSWORD 'other'; GRANT CREATE ON DATABASE postgres TO other;
		CREATE TABLE t (id int PRIMARY KEY); GRANT pg_monitor TO member, other`)
	ctx := stand.Within(t, 20*time.Second)
	_, err := b.newSource(func(c *postgres.Config) { c.URL = asRole(t, c.URL, "other") }).Tables(ctx)
	sourcetest.WantTerminal(t, err, cdc.CodePrivilege)
	var refused *pgconn.PgError
	_, err = b.newSource(func(c *postgres.Config) { c.URL = asRole(t, c.URL, "member") }).Tables(ctx)
	if !errors.As(err, &refused) || !strings.Contains(refused.Message+refused.Detail, "replication slot") {
		t.Errorf("the tables of a member of rds_replication: %v, want the server's own refusal to make a replication slot", err)
	}
}

func TestTables_stopsOnlyTheTableThatTheRoleDoesNotOwn(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, `CREATE ROLE weak LOGIN REPLICATION PASSWORD 'weak'; GRANT CREATE ON DATABASE postgres TO weak;
		GRANT pg_monitor TO weak; CREATE TABLE theirs (id int PRIMARY KEY); CREATE TABLE ours (id int PRIMARY KEY); ALTER TABLE ours OWNER TO weak`)
	b.source = b.newSource(func(c *postgres.Config) { c.URL = asRole(t, c.URL, "weak") })
	b.follow()
	b.exec("INSERT INTO ours VALUES (1)")
	b.same()
	if code := b.stopped("theirs"); code != cdc.CodePrivilege {
		t.Errorf("table of another owner has code %q", code)
	}
	b.exec("GRANT postgres TO weak")
	b.exec("ALTER TABLE theirs OWNER TO weak", "INSERT INTO theirs VALUES (1)")
	b.await("the table goes on", func() bool { return b.stopped("theirs") == "" })
	b.same()
}

// What a role may do changes without any change of the tables.
func TestTables_takesUpWhatTheRoleMayReadByAMembershipOrAttribute(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, `CREATE ROLE weak LOGIN REPLICATION PASSWORD 'weak'; GRANT CREATE ON DATABASE postgres TO weak; GRANT pg_monitor TO weak;
		CREATE ROLE owner; CREATE TABLE theirs (id int PRIMARY KEY); ALTER TABLE theirs OWNER TO owner`)
	b.source = b.newSource(func(c *postgres.Config) { c.URL = asRole(t, c.URL, "weak") })
	b.follow()
	b.await("the table is not the role's", func() bool { return b.stopped("theirs") == cdc.CodePrivilege })
	b.exec("GRANT owner TO weak")
	b.await("the table is followed", func() bool { return b.stopped("theirs") == "" })
	b.exec("INSERT INTO theirs VALUES (1)")
	b.same()
	b.exec("REVOKE owner FROM weak")
	b.await("the table is not the role's any more", func() bool { return b.stopped("theirs") == cdc.CodePrivilege })
	b.exec("ALTER ROLE weak SUPERUSER")
	b.await("a superuser follows all tables", func() bool { return b.stopped("theirs") == "" })
}

// A table may be dropped while the catalog is read: what privileges it gives is not known then.
func TestTables_survivesTablesThatAreDropped(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, "CREATE TABLE stays (id int PRIMARY KEY)")
	ctx := stand.Within(t, time.Minute)
	churn, err := pgx.Connect(ctx, b.url)
	if err != nil {
		t.Fatal(err)
	}
	done, churned := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-done:
				churned <- churn.Close(ctx)
				return
			default:
			}
			if _, err := churn.Exec(ctx, "DO $$ BEGIN FOR i IN 1..20 LOOP EXECUTE format('CREATE TABLE goes_%s (a int)', i); COMMIT; END LOOP; FOR i IN 1..20 LOOP EXECUTE format('DROP TABLE goes_%s', i); COMMIT; END LOOP; END $$"); err != nil {
				churned <- err
				return
			}
		}
	}()
	for range 100 {
		if _, err := b.source.Tables(ctx); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	if err := <-churned; err != nil {
		t.Error(err)
	}
}
