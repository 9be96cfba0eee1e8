//go:build kubernetes

package images_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/freshet-io/freshet/e2e/images"
)

// golden returns the object of a kind among the operator's golden ones: what it makes in a cluster is what must run here.
func golden[T any](t *testing.T, file, kind string) T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "operator", "internal", "manifest", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		var object struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind != kind {
			continue
		}
		var typed T
		if err := yaml.Unmarshal([]byte(document), &typed); err != nil {
			t.Fatal(err)
		}
		return typed
	}
	t.Fatalf("no %s in %s", kind, file)
	var none T
	return none
}

// named returns a pod's container.
func named(t *testing.T, pod corev1.PodSpec, name string) corev1.Container {
	t.Helper()
	all := slices.Concat(pod.InitContainers, pod.Containers)
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("the pod has no container %s", name)
	}
	return all[i]
}

const secret = "se'cret"

// environment is what a container's says, with values for what comes from elsewhere.
func environment(c corev1.Container, values map[string]string) []string {
	var env []string
	for _, v := range c.Env {
		if value, ok := values[v.Name]; ok {
			v.Value = value
		}
		env = append(env, v.Name+"="+v.Value)
	}
	return env
}

// database is a container of PostgreSQL as the operator runs it.
type database struct {
	container
	spec corev1.Container
	port string
}

func newDatabase(t *testing.T) database {
	t.Helper()
	pod := golden[appsv1.StatefulSet](t, "postgresql.yaml", "StatefulSet").Spec.Template.Spec
	d := database{spec: named(t, pod, "postgresql"), port: freePort(t)}
	var volumes []string
	for _, m := range d.spec.VolumeMounts {
		if m.MountPath != "/dev/shm" { // this machine's
			volumes = append(volumes, m.MountPath)
		}
	}
	d.container = unpack(t, images.PostgreSQL, volumes...)
	giveCertificate(t, d.container)
	return d
}

func (d database) start(t *testing.T) *process {
	env := environment(d.spec, map[string]string{"POSTGRES_PASSWORD": secret})
	// The later of two settings holds: this machine has other ports free, and less memory.
	return d.container.start(t, env, append(d.spec.Args, "-c", "port="+d.port, "-c", "shared_buffers=32MB")...)
}

// ready runs the readiness probe.
func (d database) ready(t *testing.T, p *process) {
	t.Helper()
	probe := d.container
	probe.config.Entrypoint = nil
	command := append(d.spec.ReadinessProbe.Exec.Command, "--port="+d.port)
	p.until(t, "the readiness probe", func() error {
		attempt := probe.start(t, nil, command...)
		<-attempt.done
		if code := attempt.ProcessState.ExitCode(); code != 0 {
			return fmt.Errorf("%s exits with %d", strings.Join(command, " "), code)
		}
		return nil
	})
}

// connect comes from an address of this machine.
func (d database) connect(t *testing.T, from, password string) (*pgx.Conn, error) {
	t.Helper()
	config, err := pgx.ParseConfig(fmt.Sprintf("host=127.0.0.1 port=%s user=freshet dbname=app sslmode=require", d.port))
	if err != nil {
		t.Fatal(err)
	}
	config.Password = password
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, address)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err == nil {
		t.Cleanup(func() { conn.Close(context.Background()) })
	}
	return conn, err
}

func TestImages_postgresqlKeepsTheContractOfItsOfficialImage(t *testing.T) {
	d := newDatabase(t)
	server := d.start(t)
	d.ready(t, server)
	if _, err := d.connect(t, "127.0.0.2", "wrong"); err == nil {
		t.Error("another host comes in with a wrong password")
	}
	conn, err := d.connect(t, "127.0.0.2", secret)
	if err != nil {
		t.Fatal(err)
	}
	var got [6]string
	err = conn.QueryRow(t.Context(), `SELECT current_setting('wal_level'), current_setting('data_checksums'), (SELECT datcollate FROM pg_database WHERE datname = 'app'),
		current_setting('max_replication_slots'), (SELECT rolpassword LIKE 'SCRAM-SHA-256$%' FROM pg_authid WHERE rolname = 'freshet')::text,
		(SELECT usesuper FROM pg_user WHERE usename = current_user)::text`).Scan(&got[0], &got[1], &got[2], &got[3], &got[4], &got[5])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([6]string{"logical", "on", "C.UTF-8", "80", "true", "true"}, got); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS answer"); err != nil {
		t.Fatal(err)
	}
	// With a session open, as a kubelet ends it.
	if d.config.StopSignal != "SIGINT" {
		t.Errorf("image is ended by %s", d.config.StopSignal)
	}
	if code := server.end(t, syscall.SIGINT); code != 0 {
		t.Errorf("it ended with code %d", code)
	}
	if !strings.Contains(server.output.String(), "database system is shut down") {
		t.Error("it did not end in order")
	}

	server = d.start(t)
	d.ready(t, server)
	if conn, err = d.connect(t, "127.0.0.1", ""); err != nil { // initdb lets the same host in without a password
		t.Fatal(err)
	}
	var answer int
	if err := conn.QueryRow(t.Context(), "SELECT answer FROM kept").Scan(&answer); err != nil || answer != 42 {
		t.Errorf("after a restart: %d, %v", answer, err)
	}
	server.kill()
	server = d.start(t)
	d.ready(t, server)
}

func TestImages_postgresqlSurvivesAKillInItsFirstStart(t *testing.T) {
	d := newDatabase(t)
	volume := d.volume(t, "/var/lib/postgresql/data")
	server := d.start(t)
	server.until(t, "initdb", func() error {
		_, err := os.Stat(filepath.Join(volume, "pgdata.new", "data", "PG_VERSION"))
		return err
	})
	server.kill()
	if _, err := os.Stat(filepath.Join(volume, "pgdata")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is a data folder after a kill in the middle of the first start: %v", err)
	}
	server = d.start(t)
	d.ready(t, server)
	if _, err := d.connect(t, "127.0.0.2", secret); err != nil {
		t.Error(err)
	}
	files, err := filepath.Glob(filepath.Join(volume, "*"))
	if err != nil || len(files) != 1 {
		t.Errorf("the volume holds %v, %v", files, err)
	}
}

// unit is a container of the engine as the operator runs it, and one of the gateway.
type unit struct {
	engine, gateway         container
	engineSpec, gatewaySpec corev1.Container
	enginePort              string
}

func newUnit(t *testing.T) unit {
	t.Helper()
	pod := golden[appsv1.StatefulSet](t, "units.yaml", "StatefulSet").Spec.Template.Spec
	u := unit{engineSpec: named(t, pod, "engine"), gatewaySpec: named(t, pod, "gateway"), enginePort: freePort(t)}
	const data, config, tmp = "/var/lib/clickhouse", "/etc/freshet/engine", "/tmp"
	u.engine = unpack(t, images.ClickHouse, data, config, tmp)
	u.engine.config.Entrypoint = nil // a pod's command replaces it
	for name, text := range golden[corev1.ConfigMap](t, "units.yaml", "ConfigMap").Data {
		text = strings.ReplaceAll(text, "tcp_port: 9000", "tcp_port: "+u.enginePort)
		if err := os.WriteFile(filepath.Join(u.engine.volume(t, config), name), []byte(text), 0o444); err != nil {
			t.Fatal(err)
		}
	}
	u.gateway = unpack(t, images.Freshet)
	u.gateway.config.Entrypoint, u.gateway.config.User = nil, u.engine.config.User // all of a pod run as one
	return u
}

func (u unit) startEngine(t *testing.T) *process {
	p := u.engine.start(t, environment(u.engineSpec, map[string]string{"FRESHET_ENGINE_PASSWORD": secret}), u.engineSpec.Command...)
	p.until(t, "the engine", func() error {
		conn, err := u.dial(t, "freshet", secret)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	return p
}

func (u unit) dial(t *testing.T, user, password string) (*ch.Client, error) {
	return ch.Dial(t.Context(), ch.Options{Address: "127.0.0.1:" + u.enginePort, User: user, Password: password})
}

// setting reads one of the engine's.
func setting(t *testing.T, conn *ch.Client, query string) string {
	t.Helper()
	var value proto.ColStr
	if err := conn.Do(t.Context(), ch.Query{Body: query, Result: proto.Results{{Name: "value", Data: &value}}}); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if value.Rows() != 1 {
		t.Fatalf("%s: %d rows", query, value.Rows())
	}
	return value.Row(0)
}

func TestImages_engineTakesTheOperatorsConfiguration(t *testing.T) {
	u := newUnit(t)
	p := u.startEngine(t)
	for _, who := range [][2]string{{"freshet", "wrong"}, {"default", ""}} {
		conn, err := u.dial(t, who[0], who[1])
		if err == nil {
			err = conn.Do(t.Context(), ch.Query{Body: "CREATE TABLE default.stolen (a Int8) ENGINE = Memory"})
			conn.Close()
		}
		if err == nil {
			t.Errorf("user %s with password %q may create tables", who[0], who[1])
		}
	}
	conn, err := u.dial(t, "freshet", secret)
	if err != nil {
		t.Fatal(err)
	}
	const server, query, table = "SELECT value FROM system.server_settings WHERE name = ", "SELECT value FROM system.settings WHERE name = ", "SELECT value FROM system.merge_tree_settings WHERE name = "
	got := map[string]string{}
	for name, from := range map[string]string{
		"max_server_memory_usage": server, "mark_cache_size": server, "uncompressed_cache_size": server,
		"database_atomic_delay_before_drop_table_sec": server, "max_threads": query, "old_parts_lifetime": table,
	} {
		got[name] = setting(t, conn, from+"'"+name+"'")
	}
	want := map[string]string{
		"max_server_memory_usage": "3865470561", "mark_cache_size": "268435456", "uncompressed_cache_size": "0",
		"database_atomic_delay_before_drop_table_sec": "1", "max_threads": "2", "old_parts_lifetime": "2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	for _, statement := range []string{"CREATE DATABASE d", "CREATE TABLE d.t ENGINE = MergeTree ORDER BY a AS SELECT 42 AS a"} {
		if err := conn.Do(t.Context(), ch.Query{Body: statement}); err != nil {
			t.Fatal(err)
		}
	}
	conn.Close()
	if code := p.end(t, syscall.SIGTERM); code != 0 {
		t.Errorf("it ended with code %d", code)
	}
	for range 2 { // after an orderly end, and after a kill
		p = u.startEngine(t)
		if conn, err = u.dial(t, "freshet", secret); err != nil {
			t.Fatal(err)
		}
		if got := setting(t, conn, "SELECT toString(a) AS value FROM d.t"); got != "42" {
			t.Errorf("after a restart: %s", got)
		}
		conn.Close()
		p.kill()
	}
}

func TestImages_gatewayAnswersFromBothServers(t *testing.T) {
	d, u := newDatabase(t), newUnit(t)
	server := d.start(t)
	d.ready(t, server)
	u.startEngine(t)
	source, err := d.connect(t, "127.0.0.2", secret)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Exec(t.Context(), "CREATE TABLE sale (id int PRIMARY KEY, amount int); INSERT INTO sale SELECT n, n % 10 FROM generate_series(1, 1000) n"); err != nil {
		t.Fatal(err)
	}
	listen, monitor := "127.0.0.1:"+freePort(t), "127.0.0.1:"+freePort(t)
	env := environment(u.gatewaySpec, map[string]string{
		"FRESHET_LISTEN": listen, "FRESHET_MONITOR_LISTEN": monitor,
		"FRESHET_POSTGRES_URL": fmt.Sprintf("host=127.0.0.1 port=%s user=freshet dbname=app sslmode=require", d.port),
		"FRESHET_ENGINE_ADDR":  "127.0.0.1:" + u.enginePort, "FRESHET_ENGINE_PASSWORD": secret,
		"FRESHET_SLOT": "freshet_0a1b2c3d_0", "FRESHET_TLS_CERT_FILE": "", "FRESHET_TLS_KEY_FILE": "", "PGSSLROOTCERT": "",
	})
	gateway := u.gateway.start(t, env, u.gatewaySpec.Command...)
	gateway.until(t, "a fresh unit", func() error {
		answer, err := http.Get("http://" + monitor + u.gatewaySpec.ReadinessProbe.HTTPGet.Path)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", answer.Status, text)
		}
		return err
	})
	host, port, _ := net.SplitHostPort(listen)
	conn, err := pgx.Connect(t.Context(), fmt.Sprintf("host=%s port=%s user=freshet password=%s dbname=app sslmode=disable", host, port, `se\'cret`))
	if err != nil {
		t.Fatal(err)
	}
	var sum int
	var route string
	if _, err := conn.Exec(t.Context(), "SET freshet.route = columnar; SET freshet.freshness = strong"); err != nil {
		t.Fatal(err)
	}
	// A unit is ready before its tables are copied: until then their queries go to the database.
	gateway.until(t, "the table's copy", func() error { return conn.QueryRow(t.Context(), "SELECT sum(amount) FROM sale").Scan(&sum) })
	if err := conn.QueryRow(t.Context(), "SHOW freshet.last_route").Scan(&route); err != nil {
		t.Fatal(err)
	}
	if sum != 4500 || route != "columnar" {
		t.Errorf("answer %d by route %s", sum, route)
	}
	if err := conn.Close(t.Context()); err != nil { // which it would wait for
		t.Error(err)
	}
	if code := gateway.end(t, syscall.SIGTERM); code != 0 {
		t.Errorf("the gateway ended with code %d", code)
	}
}

func TestImages_areBuiltOnceFromTheSameSources(t *testing.T) {
	if diff := cmp.Diff(build(t, images.Freshet), build(t, images.Freshet)); diff != "" {
		t.Errorf("second build (-first +second):\n%s", diff)
	}
}

func TestImages_pauseEndsWhenTold(t *testing.T) {
	p := unpack(t, images.Pause).start(t, nil)
	p.until(t, "signals to be caught", func() error {
		if output := p.output.String(); !strings.Contains(output, "holds the namespaces") {
			return fmt.Errorf("its output is %q", output)
		}
		return nil
	})
	if code := p.end(t, syscall.SIGTERM); code != 0 {
		t.Errorf("it ended with code %d", code)
	}
}
