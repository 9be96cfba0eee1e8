package database_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/local/toolchain"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/pki"
)

// startPostgres returns a server with the given settings and a session of its superuser.
func startPostgres(t *testing.T, settings map[string]string) (*pgserver.Server, *pgx.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	home, err := cache.Postgres(ctx)
	if err != nil {
		t.Fatal(err)
	}
	server, err := pgserver.New(pgserver.Config{Home: home, DataDir: filepath.Join(stand.Dir(t), "pg"), Settings: settings, Volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Discard() })
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return server, conn
}

func exec(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// as returns the connection string with another user or database.
func as(t *testing.T, uri, user, password, db string) string {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.UserPassword(user, password), "/"+db
	return u.String()
}

func TestInspect_namesEveryLackAndItsRemedy(t *testing.T) {
	server, conn := startPostgres(t, map[string]string{"wal_level": "replica", "max_replication_slots": "3", "max_wal_senders": "3"})
	exec(t, conn, "CREATE ROLE clerk LOGIN PASSWORD 'clerk'")
	exec(t, conn, "CREATE ROLE rds_replication; CREATE ROLE member LOGIN PASSWORD 'member' IN ROLE rds_replication") // as on Amazon RDS
	exec(t, conn, "CREATE ROLE busy LOGIN PASSWORD 'busy' CONNECTION LIMIT 0")
	exec(t, conn, "CREATE DATABASE closed ALLOW_CONNECTIONS false")
	exec(t, conn, "CREATE DATABASE old ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C' TEMPLATE template0")
	exec(t, conn, "SELECT pg_create_physical_replication_slot('standby')")
	super := server.URL("postgres")
	for _, c := range []struct {
		name  string
		uri   string
		units int
		want  []string
	}{
		{"superuser", super, 1, []string{"WALLevelNotLogical: wal_level is replica; ALTER SYSTEM SET wal_level = logical, and restart the server"}},
		{"two units", super, 2, []string{
			"WALLevelNotLogical: wal_level is replica; ALTER SYSTEM SET wal_level = logical, and restart the server",
			"TooFewReplicationSlots: 2 units need 4 replication slots, and 1 of 3 are others'; raise max_replication_slots and restart the server, or drop slots that are not used",
			"TooFewWALSenders: 2 units need 4 WAL senders, and max_wal_senders is 3; raise max_wal_senders and restart the server",
		}},
		{"clerk in an old database", as(t, super, "clerk", "clerk", "old"), 1, []string{
			"WALLevelNotLogical: wal_level is replica; ALTER SYSTEM SET wal_level = logical, and restart the server",
			`EncodingNotUTF8: database "old" has encoding LATIN1; use a database WITH ENCODING 'UTF8'`,
			`MissingReplicationPrivilege: role "clerk" may not replicate; ALTER ROLE "clerk" REPLICATION`,
			`MissingCreatePrivilege: role "clerk" may not create publications in database "old"; GRANT CREATE ON DATABASE "old" TO "clerk"`,
		}},
		{"member of rds_replication", as(t, super, "member", "member", "postgres"), 1, []string{
			"WALLevelNotLogical: wal_level is replica; ALTER SYSTEM SET wal_level = logical, and restart the server",
			`MissingCreatePrivilege: role "member" may not create publications in database "postgres"; GRANT CREATE ON DATABASE "postgres" TO "member"`,
		}},
		{"wrong password", as(t, super, "clerk", "guess", "postgres"), 1, []string{
			`AuthenticationFailed: password authentication failed for user "clerk"; correct user and password in the connection Secret, or pg_hba.conf`}},
		{"no such database", as(t, super, "clerk", "clerk", "shop"), 1, []string{
			`DatabaseNotFound: database "shop" does not exist; create it, or correct the name in the connection Secret`}},
		{"no connection left", as(t, super, "busy", "busy", "postgres"), 1, []string{
			`TooManyConnections: too many connections for role "busy"; raise max_connections and restart the server, or the role's CONNECTION LIMIT, or close connections that are not used`}},
		{"refused", as(t, super, "clerk", "clerk", "closed"), 1, []string{
			fmt.Sprintf(`DatabaseUnreachable: %s:%d refuses connections: database "closed" is not currently accepting connections; see the server's log`, conn.Config().Host, conn.Config().Port)}},
		{"no such server", "postgresql://127.0.0.1:1/shop", 1, []string{
			"DatabaseUnreachable: 127.0.0.1:1 does not accept a connection; see that it runs, that its address in the connection Secret is right, and that no NetworkPolicy or certificate is in the way"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lacks, err := database.PostgreSQL{}.Inspect(t.Context(), database.Connection{URI: c.uri}, "freshet_0a1b2c3d_", c.units)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range lacks {
				got = append(got, fmt.Sprintf("%s: %v", l.Reason, l))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestInspect_doesNotTellThePassword(t *testing.T) {
	lacks, err := database.PostgreSQL{}.Inspect(t.Context(), database.Connection{URI: "postgresql://clerk:topsecret@host:port/db"}, "freshet_", 1)
	if err != nil || len(lacks) != 1 {
		t.Fatalf("got %v and %v, want one lack", lacks, err)
	}
	if lacks[0].Reason != database.ReasonInvalidConnection || strings.Contains(lacks[0].Error(), "topsecret") {
		t.Errorf("got %s: %v", lacks[0].Reason, lacks[0])
	}
}

func TestInspect_letsTheServerLoadANewCertificate(t *testing.T) {
	server, conn := startPostgres(t, map[string]string{"wal_level": "logical"})
	var dir string
	if err := conn.QueryRow(t.Context(), "SHOW data_directory").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	authority, err := pki.NewAuthority("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	issue := func() pki.Certificate {
		c, err := authority.Server(time.Now(), "localhost")
		if err != nil {
			t.Fatal(err)
		}
		for name, data := range map[string][]byte{"server.crt": c.Cert, "server.key": c.Key} {
			writeLike(t, filepath.Join(dir, name), dir, data)
		}
		return c
	}
	c := database.Connection{URI: strings.NewReplacer("127.0.0.1", "localhost", "sslmode=disable", "sslmode=verify-full").Replace(server.URL("postgres")), CA: authority.Cert}
	shown := issue()
	exec(t, conn, "ALTER SYSTEM SET ssl = on")
	exec(t, conn, "SELECT pg_reload_conf()")
	for range 2 {
		c.Certificate = shown.Cert
		ctx, again := stand.Within(t, 20*time.Second), time.NewTicker(20*time.Millisecond)
		for err := errors.New("not yet"); err != nil; <-again.C {
			if ctx.Err() != nil {
				t.Fatalf("the server does not show its certificate: %v", err)
			}
			lacks, inspectErr := database.PostgreSQL{}.Inspect(ctx, c, "freshet_", 1)
			if err = inspectErr; err == nil && len(lacks) > 0 {
				err = lacks[0]
			}
			err = errors.Join(err, shows(ctx, c))
		}
		again.Stop()
		shown = issue()
	}
}

func TestInspect_tellsOfALogThatIsNotArchived(t *testing.T) {
	server, conn := startPostgres(t, map[string]string{"wal_level": "logical", "archive_mode": "on", "archive_command": "false"})
	exec(t, conn, "CREATE ROLE units LOGIN REPLICATION PASSWORD 'units'; GRANT CREATE ON DATABASE postgres TO units")
	exec(t, conn, "SELECT pg_switch_wal()")
	connection := database.Connection{URI: as(t, server.URL("postgres"), "units", "units", "postgres")}
	// until waits for what is said of a server that is to archive.
	until := func(want ...string) {
		t.Helper()
		ctx, again := stand.Within(t, 3*time.Minute), time.NewTicker(50*time.Millisecond) // PostgreSQL waits for a minute after three failures
		defer again.Stop()
		for diff := "not asked"; diff != ""; <-again.C {
			c := connection
			c.Archives = true
			lacks, err := database.PostgreSQL{}.Inspect(ctx, c, "freshet_", 1)
			if err != nil {
				t.Fatalf("%v; before it was (-want +got):\n%s", err, diff)
			}
			var got []string
			for _, l := range lacks {
				got = append(got, fmt.Sprintf("%s: %v", l.Reason, l))
			}
			diff = cmp.Diff(want, got)
		}
	}
	until("ArchivingFailed: segment 000000010000000000000001 of the log cannot be archived; see in the server's log what archive_command says: " +
		"the archive is full, or another database's; the log stays on the data's volume until it is archived")
	if lacks, err := (database.PostgreSQL{}).Inspect(t.Context(), connection, "freshet_", 1); err != nil || len(lacks) > 0 {
		t.Errorf("of a server whose archive is not the operator's business it says %v, error %v", lacks, err)
	}
	exec(t, conn, "ALTER SYSTEM SET archive_command = 'true'")
	exec(t, conn, "SELECT pg_reload_conf()")
	until()
}

// shows fails unless the server shows its certificate.
func shows(ctx context.Context, c database.Connection) error {
	cfg, err := pgx.ParseConfig(c.URI)
	if err != nil {
		return err
	}
	var shown []byte
	cfg.TLSConfig.InsecureSkipVerify = true
	cfg.TLSConfig.VerifyPeerCertificate = func(certs [][]byte, _ [][]*x509.Certificate) error {
		shown = certs[0]
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return err
	}
	if block, _ := pem.Decode(c.Certificate); !bytes.Equal(shown, block.Bytes) {
		err = errors.New("it shows another")
	}
	return errors.Join(err, conn.Close(ctx))
}

// writeLike writes a file for the owner of another.
func writeLike(t *testing.T, path, like string, data []byte) {
	t.Helper()
	info, err := os.Stat(like)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	if err := errors.Join(os.WriteFile(path, data, 0o600), os.Chown(path, int(owner.Uid), int(owner.Gid))); err != nil {
		t.Fatal(err)
	}
}

func TestSetPassword_mayBeSaidAgain(t *testing.T) {
	server, conn := startPostgres(t, map[string]string{"wal_level": "logical", "log_statement": "all"})
	exec(t, conn, "CREATE ROLE \"a clerk\" SUPERUSER LOGIN PASSWORD 'first'")
	connection := func(password string) database.Connection {
		return database.Connection{URI: as(t, server.URL("postgres"), "a clerk", password, "postgres")}
	}
	for range 2 {
		if err := (database.PostgreSQL{}).SetPassword(t.Context(), connection("first"), connection("second")); err != nil {
			t.Fatal(err)
		}
	}
	for password, let := range map[string]bool{"first": false, "second": true} {
		lacks, err := database.PostgreSQL{}.Inspect(t.Context(), connection(password), "freshet_", 1)
		if err != nil || (len(lacks) == 0) != let {
			t.Errorf("with the password %s: %v, %v", password, lacks, err)
		}
	}
	if log, err := os.ReadFile(server.LogFile()); err != nil || !bytes.Contains(log, []byte("ALTER ROLE")) || bytes.Contains(log, []byte("second")) {
		t.Errorf("the server's log has the password, or nothing: %v", err)
	}
	if err := (database.PostgreSQL{}).SetPassword(t.Context(), connection("first"), connection("third")); err == nil {
		t.Error("changed by whom nobody let in")
	}
}

func TestLimitSlots_isObeyedWhileTheServerRuns(t *testing.T) {
	server, conn := startPostgres(t, nil)
	var began time.Time
	if err := conn.QueryRow(t.Context(), "SELECT pg_postmaster_start_time()").Scan(&began); err != nil {
		t.Fatal(err)
	}
	for _, most := range []string{"6826MB", "10240MB"} {
		if err := (database.PostgreSQL{}).LimitSlots(t.Context(), database.Connection{URI: server.URL("postgres")}, most); err != nil {
			t.Fatal(err)
		}
		var now string
		var start time.Time
		for deadline := time.Now().Add(time.Minute); now != most; { // each process reads it when it comes to that
			if err := conn.QueryRow(t.Context(), "SELECT setting || unit, pg_postmaster_start_time() FROM pg_settings WHERE name = 'max_slot_wal_keep_size'").Scan(&now, &start); err != nil {
				t.Fatal(err)
			}
			if time.Now().After(deadline) {
				t.Fatalf("the limit is %s, want %s", now, most)
			}
		}
		if !start.Equal(began) {
			t.Error("the server was restarted")
		}
	}
	if err := (database.PostgreSQL{}).LimitSlots(t.Context(), database.Connection{URI: server.URL("postgres")}, "'much'"); err == nil || !strings.Contains(err.Error(), "max_slot_wal_keep_size") {
		t.Errorf("no limit at all: %v", err)
	}
}

func TestProvision_makesRolesThatAreNoSuperusers(t *testing.T) {
	server, conn := startPostgres(t, map[string]string{"wal_level": "logical"})
	exec(t, conn, `CREATE DATABASE "the shop"`)
	super := strings.Replace(server.URL("postgres"), "/postgres?", "/the%20shop?", 1)
	owner, units := database.Role{Name: "an owner", Password: "first"}, database.Role{Name: "units", Password: "second"}
	for range 2 {
		if err := (database.PostgreSQL{}).Provision(t.Context(), database.Connection{URI: super}, owner, units); err != nil {
			t.Fatal(err)
		}
	}
	connection := func(r database.Role) database.Connection {
		return database.Connection{URI: as(t, super, r.Name, r.Password, "the shop")}
	}
	session := func(r database.Role) *pgx.Conn {
		c, err := pgx.Connect(t.Context(), connection(r).URI)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		return c
	}
	app, unit := session(owner), session(units)
	exec(t, app, "CREATE TABLE public.item(id int PRIMARY KEY)")
	exec(t, app, "CREATE SCHEMA more")
	for _, sql := range []string{
		"SELECT id FROM public.item", "CREATE PUBLICATION freshet_0a1b2c3d_0 FOR TABLE public.item", "SELECT pg_create_logical_replication_slot('freshet_0a1b2c3d_0', 'pgoutput')",
		"SELECT rolname, rolpassword FROM pg_catalog.pg_authid", "SELECT pg_reload_conf()",
	} {
		exec(t, unit, sql)
	}
	for _, sql := range []string{
		"SELECT rolpassword FROM pg_catalog.pg_authid", "CREATE ROLE other", "ALTER SYSTEM SET work_mem = '1GB'", "SELECT pg_create_logical_replication_slot('x', 'pgoutput')",
	} {
		if _, err := app.Exec(t.Context(), sql); err == nil {
			t.Errorf("the role of applications may say %s", sql)
		}
	}
	if lacks, err := (database.PostgreSQL{}).Inspect(t.Context(), connection(units), "freshet_0a1b2c3d_", 1); err != nil || len(lacks) > 0 {
		t.Errorf("units' role lacks %v, error %v", lacks, err)
	}
	if inUse, err := (database.PostgreSQL{}).Clean(t.Context(), connection(units), "freshet_0a1b2c3d_", 0); err != nil || len(inUse) > 0 {
		t.Errorf("units' role cannot clean up: %v, error %v", inUse, err)
	}
	for _, r := range []database.Role{owner, units} {
		next := r
		next.Password = "third"
		if err := (database.PostgreSQL{}).SetPassword(t.Context(), connection(r), connection(next)); err != nil {
			t.Errorf("%s cannot change its password: %v", r.Name, err)
		}
	}
}

func TestClean_dropsWhatUnitsThatAreNoMoreHaveLeft(t *testing.T) {
	server, conn := startPostgres(t, map[string]string{"wal_level": "logical"})
	for _, name := range []string{"freshet_0a1b2c3d_0", "freshet_0a1b2c3d_1", "freshet_0a1b2c3d_2", "freshet_ffffffff_1"} {
		exec(t, conn, "SELECT pg_create_logical_replication_slot('"+name+"', 'pgoutput')")
		exec(t, conn, "CREATE PUBLICATION "+name)
	}
	exec(t, conn, "CREATE PUBLICATION freshet_0a1b2c3d_3") // its slot is gone
	connection := database.Connection{URI: server.URL("postgres")}
	exec(t, conn, "SELECT pg_create_logical_replication_slot('freshet_0a1b2c3d_4', 'pgoutput')") // it has no publication yet
	if units, err := (database.PostgreSQL{}).Slots(t.Context(), connection, "freshet_0a1b2c3d_"); err != nil || !slices.Equal(units, []int{0, 1, 2}) {
		t.Errorf("units %v have slot and publication, error %v", units, err)
	}
	for _, step := range []struct {
		keep int
		want []string
	}{
		{1, []string{"freshet_0a1b2c3d_0", "freshet_ffffffff_1"}},
		{0, []string{"freshet_ffffffff_1"}},
		{0, []string{"freshet_ffffffff_1"}},
	} {
		inUse, err := database.PostgreSQL{}.Clean(t.Context(), connection, "freshet_0a1b2c3d_", step.keep)
		if err != nil || len(inUse) > 0 {
			t.Fatalf("in use %v, error %v", inUse, err)
		}
		for _, query := range []string{"SELECT slot_name::text FROM pg_replication_slots ORDER BY 1", "SELECT pubname::text FROM pg_publication ORDER BY 1"} {
			rows, err := conn.Query(t.Context(), query)
			if err != nil {
				t.Fatal(err)
			}
			got, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("keep %d, %s (-want +got):\n%s", step.keep, query, diff)
			}
		}
	}
}
