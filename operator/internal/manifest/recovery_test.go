//go:build kubernetes

package manifest_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/pki"
)

// Paths of containers.
const (
	dataPath     = "/var/lib/postgresql/data"
	archivePath  = "/var/lib/freshet/archive"
	recoveryPath = "/var/lib/freshet/recovery"
	programsPath = "/etc/freshet/archive"
	socketsPath  = "/var/run/postgresql"
	tlsPath      = "/etc/freshet/tls"
	oltpPath     = "/etc/freshet/oltp"
)

// archived is a cluster whose database has an archive of so many base backups.
func archived(keep int32) manifest.Cluster {
	return shop(v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{
		Database: "app", Resources: resources("1", "256Mi"), Storage: v1alpha1.DataStorageSpec{Size: resource.MustParse("30Gi")},
		Archive: &v1alpha1.ArchiveSpec{Storage: v1alpha1.StorageSpec{Size: resource.MustParse("100Gi")}, Schedule: "0 2 * * *", Keep: keep},
	}})
}

// recovered is another cluster, whose database is made of the first one's archive as of a time, nil: as late as it goes.
func recovered(target *time.Time) manifest.Cluster {
	c := archived(1)
	c.Name = "again"
	c.Spec.OLTP.PostgreSQL.Recovery = &v1alpha1.RecoverySpec{ClaimName: "shop-oltp-archive"}
	if target != nil {
		c.Spec.OLTP.PostgreSQL.Recovery.TargetTime = &metav1.Time{Time: *target}
	}
	return c
}

// primary is the database of a cluster with an archive, at work.
type primary struct {
	*node
	server  *pgserver.Server
	session *pgx.Conn
	archive string
	backup  corev1.Container
}

// startPrimary starts it as the official image has it: what that lets in by TCP are no connections of replication.
func startPrimary(t *testing.T, keep int32) *primary {
	t.Helper()
	c, p := archived(keep), &primary{node: newNode(t)}
	authority, err := pki.NewAuthority("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := authority.Server(time.Now(), append(manifest.OLTPHosts(c.HTAPCluster), manifest.OLTPHosts(recovered(nil).HTAPCluster)...)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range c.OLTPRoles() {
		p.secrets[role.Secret] = c.RoleSecret(role, manifest.Credentials{Password: "old " + role.Name}, authority.Cert)
	}
	data := p.mount(dataPath, nil)
	p.archive = p.mount(archivePath, nil)
	p.mount(socketsPath, nil)
	p.mount(tlsPath, map[string]string{"tls.crt": string(certificate.Cert), "tls.key": string(certificate.Key)})
	p.mount(oltpPath, map[string]string{"ca.crt": string(authority.Cert)})
	p.mount(programsPath, programs(t, c))
	p.server = p.node.server(c.PostgreSQL().Spec.Template.Spec.Containers[0])
	p.write(filepath.Join(data, "pgdata", "pg_hba.conf"), "local all all trust\nhost all all all scram-sha-256\n")
	if err := errors.Join(p.server.Stop(stand.Within(t, time.Minute)), p.server.Start(stand.Within(t, time.Minute))); err != nil {
		t.Fatal(err)
	}
	stand.ExecAt(t, p.server.URL("postgres"), "CREATE ROLE freshet SUPERUSER LOGIN PASSWORD 'old freshet'", "CREATE DATABASE app")
	provision(t, p.server, "old")
	p.session = stand.Connect(t, p.server.URL("app"))
	stand.Exec(t, p.session, "CREATE TABLE item(id int PRIMARY KEY, what text)")
	p.backup = backupOf(c)
	return p
}

// backupOf is the container that takes base backups of a cluster's database.
func backupOf(c manifest.Cluster) corev1.Container {
	return c.Backups().Spec.JobTemplate.Spec.Template.Spec.Containers[0]
}

// provision does what the operator does with a new database, whose passwords begin with a word.
func provision(t *testing.T, server *pgserver.Server, word string) {
	t.Helper()
	u, err := url.Parse(server.URL("app"))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("freshet", word+" freshet")
	role := func(name string) database.Role { return database.Role{Name: name, Password: word + " " + name} }
	if err := (database.PostgreSQL{}).Provision(t.Context(), database.Connection{URI: u.String()}, role("freshet_app"), role("freshet_units")); err != nil {
		t.Fatal(err)
	}
}

// local are the variables by which a container finds the server here, whose certificate has another name.
func (p *primary) local() []string {
	return []string{"PGHOSTADDR=127.0.0.1", "PGPORT=" + strconv.Itoa(p.server.Port())}
}

// insert adds rows with the ids from one number to another.
func (p *primary) insert(from, to int) {
	p.t.Helper()
	stand.Exec(p.t, p.session, fmt.Sprintf("INSERT INTO item SELECT n, repeat(md5(n::text), 8) FROM generate_series(%d, %d) n", from, to))
}

// archiveAll waits until all of the log is in the archive.
func (p *primary) archiveAll() {
	p.t.Helper()
	var last string
	stand.Exec(p.t, p.session, "SELECT pg_logical_emit_message(true, 'test', 'there is something to switch')")
	if err := p.session.QueryRow(p.t.Context(), "SELECT pg_walfile_name(pg_current_wal_insert_lsn())").Scan(&last); err != nil {
		p.t.Fatal(err)
	}
	stand.Exec(p.t, p.session, "SELECT pg_switch_wal()")
	ctx, again := stand.Within(p.t, 3*time.Minute), time.NewTicker(20*time.Millisecond)
	defer again.Stop()
	for done := false; !done; <-again.C {
		if err := p.session.QueryRow(ctx, "SELECT coalesce(last_archived_wal >= $1, false) FROM pg_stat_archiver", last).Scan(&done); err != nil {
			p.t.Fatal(err)
		}
	}
}

// now is the server's time in the second after the last base backup's at the least, by which that has ended before.
func (p *primary) now() time.Time {
	p.t.Helper()
	stand.Exec(p.t, p.session, "SELECT pg_sleep_until(date_trunc('second', clock_timestamp()) + interval '1 s')")
	var now time.Time
	if err := p.session.QueryRow(p.t.Context(), "SELECT clock_timestamp()").Scan(&now); err != nil {
		p.t.Fatal(err)
	}
	return now
}

// successor prepares the node of a cluster that is made of the archive, and returns its pod.
func (p *primary) successor(c manifest.Cluster) (*node, corev1.PodSpec) {
	p.t.Helper()
	n := newNode(p.t)
	n.mount(dataPath, nil)
	n.mount(archivePath, nil)
	n.mount(socketsPath, nil)
	n.mount(programsPath, programs(p.t, c))
	n.folders[recoveryPath], n.folders[tlsPath], n.folders[oltpPath] = p.archive, p.folders[tlsPath], p.folders[oltpPath]
	for _, role := range c.OLTPRoles() {
		n.secrets[role.Secret] = c.RoleSecret(role, manifest.Credentials{Password: "new " + role.Name}, nil)
	}
	return n, c.PostgreSQL().Spec.Template.Spec
}

// archived lists what is in the archive.
func (p *primary) archived() map[string][]string {
	p.t.Helper()
	return map[string][]string{"wal": files(p.t, filepath.Join(p.archive, "wal")), "base": files(p.t, filepath.Join(p.archive, "base"))}
}

// content is what a table holds.
func content(t *testing.T, server *pgserver.Server) []string {
	t.Helper()
	rows, err := stand.Connect(t, server.URL("app")).Query(t.Context(), "SELECT id || ' ' || what FROM item ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestArchive_recoversADatabaseAsItWasAtATime(t *testing.T) {
	p := startPrimary(t, 3)
	stand.Exec(t, p.session, "CREATE PUBLICATION freshet_0a1b2c3d_0 FOR TABLE item; CREATE PUBLICATION freshet_of_mine")
	stand.Exec(t, p.session, "ALTER SYSTEM SET log_statement = 'all'")
	p.insert(1, 1000)
	p.mustRun(p.backup, p.local()...)
	p.insert(1001, 2000)
	target, want := p.now(), content(t, p.server)
	stand.Exec(t, p.session, "DELETE FROM item WHERE id % 3 = 0; UPDATE item SET what = 'lost'")
	p.mustRun(p.backup, p.local()...) // of what came later
	p.archiveAll()
	if err := p.server.Stop(stand.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	before := p.archived()

	n, pod := p.successor(recovered(&target))
	recoverer := pod.InitContainers[0]
	half := filepath.Join(n.folders[dataPath], "pgdata.recovery")
	if err := os.Mkdir(half, 0o700); err != nil { // of a run that was interrupted
		t.Fatal(err)
	}
	n.give(half)
	n.write(filepath.Join(half, "PG_VERSION"), "18")
	said := n.mustRun(recoverer)
	server := n.server(pod.Containers[0])
	if diff := cmp.Diff(want, content(t, server)); diff != "" {
		t.Errorf("recovered (-want +got):\n%s", diff)
	}
	if strings.Contains(said, "new freshet") || strings.Contains(said, "SCRAM") {
		t.Errorf("the log has a password:\n%s", said)
	}
	provision(t, server, "new")
	session := stand.Connect(t, server.URL("app"))
	var timeline int
	var publications []string
	err := session.QueryRow(t.Context(), "SELECT timeline_id, (SELECT array_agg(pubname::text) FROM pg_publication) FROM pg_control_checkpoint()").Scan(&timeline, &publications)
	if err != nil || timeline != 2 || !slices.Equal(publications, []string{"freshet_of_mine"}) {
		t.Errorf("timeline %d, publications %v, error %v", timeline, publications, err)
	}
	if diff := cmp.Diff(before, p.archived()); diff != "" {
		t.Errorf("the old archive was changed (-before +after):\n%s", diff)
	}

	stand.Exec(t, session, "TRUNCATE item; INSERT INTO item VALUES (1, 'new')")
	if err := server.Stop(stand.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	n.mustRun(recoverer) // as when the pod starts again
	if err := server.Start(stand.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 new"}, content(t, server)); diff != "" {
		t.Errorf("after another start (-want +got):\n%s", diff)
	}
}

func TestArchive_keepsSoManyBaseBackupsAndTheLogSinceTheOldest(t *testing.T) {
	p := startPrimary(t, 2)
	for i := range 4 {
		p.insert(100*i+1, 100*i+100)
		p.mustRun(p.backup, p.local()...)
		p.archiveAll()
	}
	bases := files(t, filepath.Join(p.archive, "base"))
	if len(bases) != 2 {
		t.Fatalf("base backups %v, want 2", bases)
	}
	label, err := os.ReadFile(filepath.Join(p.archive, "base", bases[0], "backup_label"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(label), "(file ")
	first, _, _ := strings.Cut(after, ")")
	segments := slices.DeleteFunc(files(t, filepath.Join(p.archive, "wal")), func(name string) bool { return len(name) != len(first) })
	if len(segments) == 0 || segments[0] != first {
		t.Errorf("the archive has the log from %v on, want from %s", segments, first)
	}

	p.insert(401, 500)
	p.archiveAll()
	want := content(t, p.server)
	if err := p.server.Stop(stand.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	n, pod := p.successor(recovered(nil))
	n.mustRun(pod.InitContainers[0])
	if diff := cmp.Diff(want, content(t, n.server(pod.Containers[0]))); diff != "" {
		t.Errorf("recovered to the end (-want +got):\n%s", diff)
	}
}

func TestArchive_ofARecoveredDatabaseIsOneToRecoverFrom(t *testing.T) {
	p := startPrimary(t, 1)
	p.mustRun(p.backup, p.local()...)
	p.insert(1, 100)
	p.archiveAll()
	if err := p.server.Stop(stand.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := recovered(nil)
	n, pod := p.successor(c)
	n.mustRun(pod.InitContainers[0])
	next := &primary{node: n, server: n.server(pod.Containers[0]), archive: n.folders[archivePath], backup: backupOf(c)}
	provision(t, next.server, "new")
	next.session = stand.Connect(t, next.server.URL("app"))
	next.mustRun(next.backup, next.local()...)
	next.insert(101, 200)
	target, want := next.now(), content(t, next.server)
	next.insert(201, 300)
	next.archiveAll()
	if err := next.server.Stop(stand.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	last, pod := next.successor(recovered(&target))
	last.mustRun(pod.InitContainers[0])
	if diff := cmp.Diff(want, content(t, last.server(pod.Containers[0]))); diff != "" || len(want) != 200 {
		t.Errorf("recovered once more, want %d rows (-want +got):\n%s", len(want), diff)
	}
}

func TestBackup_makesRoomOnAFullVolumeWhereFewerAreKept(t *testing.T) {
	p := startPrimary(t, 2)
	for range 2 {
		p.mustRun(p.backup, p.local()...)
	}
	newest := files(t, filepath.Join(p.archive, "base"))[1]
	full := stand.Dir(t)
	if err := os.WriteFile(filepath.Join(full, "pg_basebackup"), []byte("#!/bin/sh\necho 'No space left on device' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	said, err := p.run(p.backup, append(p.local(), "KEEP=1", "PATH="+full+":"+stand.PostgresPath(t))...)
	if err == nil || !strings.HasSuffix(said, "No space left on device\n") {
		t.Errorf("error %v, it said:\n%s", err, said)
	}
	if diff := cmp.Diff([]string{newest}, files(t, filepath.Join(p.archive, "base"))); diff != "" {
		t.Errorf("base backups (-want +got):\n%s", diff)
	}
}

func TestBackup_leavesWhatIsAnotherDatabases(t *testing.T) {
	p := startPrimary(t, 1)
	theirs := filepath.Join(p.archive, "base", "20200101000000")
	if err := os.MkdirAll(theirs, 0o755); err != nil {
		t.Fatal(err)
	}
	p.give(filepath.Dir(theirs))
	said, err := p.run(p.backup, p.local()...)
	if err == nil || !strings.Contains(said, "the archive has base backups of another database: use an empty one") {
		t.Errorf("error %v, it said:\n%s", err, said)
	}
	if _, err := os.Stat(theirs); err != nil {
		t.Error(err)
	}
}

func TestRecovery_isWholeOrFails(t *testing.T) {
	p := startPrimary(t, 1)
	early := p.now()
	p.mustRun(p.backup, p.local()...)
	p.archiveAll()
	late := p.now().Add(time.Hour)
	if err := p.server.Stop(stand.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	for name, step := range map[string]struct {
		target *time.Time
		there  string
		want   string
	}{
		"before any base backup":      {&early, "", "no base backup in the claim ended before " + early.UTC().Format("2006-01-02 15:04:05.999999") + "+00; give a later targetTime, or the claim that has one"},
		"after the end of the log":    {&late, "", "the server ended before it had recovered; what it said above tells why"},
		"over what is something else": {nil, "notes.txt", "Directory not empty"},
	} {
		t.Run(name, func(t *testing.T) {
			n, pod := p.successor(recovered(step.target))
			data := filepath.Join(n.folders[dataPath], "pgdata")
			if step.there != "" {
				if err := os.Mkdir(data, 0o700); err != nil {
					t.Fatal(err)
				}
				n.give(data)
				n.write(filepath.Join(data, step.there), "mine")
			}
			said, err := n.run(pod.InitContainers[0])
			if err == nil || !strings.Contains(said, step.want) {
				t.Errorf("error %v, want one with %q; it said:\n%s", err, step.want, said)
			}
			if _, err := os.Stat(filepath.Join(data, "PG_VERSION")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("there is a database, of which nobody knows what is in it: %v", err)
			}
		})
	}
}
