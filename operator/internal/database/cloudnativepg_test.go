package database_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// cloudNative does what CloudNativePG does with the Cluster that the operator applies: the servers' settings, the database with its owner, the
// role's attributes and memberships. It returns the role's connection, and the same with another password.
func cloudNative(t *testing.T) (now, next database.Connection) {
	t.Helper()
	c := manifest.Cluster{HTAPCluster: &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "trade"}}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{
		Provider: v1alpha1.CloudNativePG, Database: "app", MemberOf: []v1alpha1.RoleName{"sales"}, Storage: v1alpha1.DataStorageSpec{Size: resource.MustParse("3Gi")},
		Resources: v1alpha1.ResourcesSpec{CPU: resource.MustParse("1"), Memory: resource.MustParse("256Mi")},
	}}
	applied := c.CloudNativePGCluster().Object
	settings, _, err := unstructured.NestedStringMap(applied, "spec", "postgresql", "parameters")
	if err != nil {
		t.Fatal(err)
	}
	after, _, err := unstructured.NestedStringSlice(applied, "spec", "bootstrap", "initdb", "postInitApplicationSQL")
	if err != nil {
		t.Fatal(err)
	}
	server, super := startPostgres(t, settings)
	exec(t, super, "CREATE ROLE sales")
	exec(t, super, "CREATE ROLE freshet LOGIN REPLICATION IN ROLE sales PASSWORD 'first'")
	exec(t, super, "CREATE DATABASE app OWNER freshet ENCODING 'UTF8' LOCALE_PROVIDER libc LOCALE 'C.UTF-8' TEMPLATE template0")
	inApp := stand.Connect(t, server.URL("app"))
	for _, sql := range append(after, "CREATE SCHEMA theirs AUTHORIZATION sales", "SET ROLE sales", "CREATE TABLE theirs.orders (id int PRIMARY KEY)") {
		exec(t, inApp, sql)
	}
	return database.Connection{URI: as(t, server.URL("app"), "freshet", "first", "app")}, database.Connection{URI: as(t, server.URL("app"), "freshet", "second", "app")}
}

func TestInspect_isContentWithWhatCloudNativePGMakes(t *testing.T) {
	now, next := cloudNative(t)
	if lacks, err := (database.PostgreSQL{}).Inspect(t.Context(), now, "freshet_", 32); err != nil || len(lacks) > 0 {
		t.Fatalf("the database lacks %v, error %v", lacks, err)
	}
	source, err := postgres.New(postgres.Config{URL: now.URI, Slot: "freshet_0", Failover: true, Include: []string{"theirs.*"}})
	if err != nil {
		t.Fatal(err)
	}
	tables, err := source.Tables(t.Context())
	source.Close()
	if err != nil || len(tables) != 1 || tables[0].Stopped != nil {
		t.Fatalf("a unit finds tables %+v, error %v", tables, err)
	}
	if err := (database.PostgreSQL{}).SetPassword(t.Context(), now, next); err != nil {
		t.Fatal(err)
	}
	role := stand.Connect(t, next.URI)
	answers := func(question, want string) {
		t.Helper()
		var got string
		if err := role.QueryRow(t.Context(), question).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %q, error %v, want %q", question, got, err, want)
		}
	}
	answers("SELECT left(rolpassword, 5) FROM pg_authid WHERE rolname = 'freshet'", "SCRAM") // for clients that come by TLS
	answers("SELECT failover::text FROM pg_replication_slots WHERE slot_name = 'freshet_0'", "true")
	if inUse, err := (database.PostgreSQL{}).Clean(t.Context(), next, "freshet_", 0); err != nil || len(inUse) > 0 {
		t.Errorf("in use %v, error %v", inUse, err)
	}
	answers("SELECT count(*)::text FROM pg_replication_slots", "0")
}
