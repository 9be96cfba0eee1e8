//go:build kafka

package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/kafka"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/pipeline"
	"github.com/freshet-io/freshet/operator/internal/pki"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

// unitObjects builds the objects of a cluster with one unit, which reaches Kafka by TLS and a password.
func unitObjects(broker, connect string) manifest.Cluster {
	key := func(key string) manifest.SecretKey { return manifest.SecretKey{Secret: "kafka", Key: key} }
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "trade", UID: "0a1b2c3d-0000-4000-8000-000000000000"}}
	c.Spec.Columnar = v1alpha1.ColumnarSpec{Units: 1, Tables: v1alpha1.TablesSpec{Include: []v1alpha1.TablePattern{"public.*"}}}
	c.Spec.Gateway = v1alpha1.GatewaySpec{
		DrainTime: metav1.Duration{Duration: time.Second},
		Resources: v1alpha1.ResourcesSpec{CPU: resource.MustParse("1"), Memory: resource.MustParse("1Gi")},
		Freshness: v1alpha1.FreshnessSpec{
			Objective: metav1.Duration{Duration: time.Minute}, Default: v1alpha1.SessionFreshness{Mode: "strong", MaxStaleness: metav1.Duration{Duration: time.Minute}},
		},
	}
	return manifest.Cluster{HTAPCluster: c, Kafka: &manifest.Kafka{
		Brokers: []string{broker}, ConnectURL: connect,
		Broker: manifest.Access{TLS: true, User: "unit", Mechanism: "SCRAM-SHA-512", Password: key("password"), CA: key("ca.crt")},
	}}
}

// write writes files that a pod has mounted.
func write(t *testing.T, root string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// runGateway runs the program with the environment of a unit's container, but for what differs outside of a pod: addresses, and where files are.
func runGateway(t *testing.T, objects manifest.Cluster, root string, differs map[string]string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	gateway := exec.CommandContext(ctx, stand.BuildFreshet(t), "gateway")
	gateway.Cancel = func() error { return gateway.Process.Signal(syscall.SIGTERM) }
	gateway.WaitDelay = 30 * time.Second
	gateway.Stdout, gateway.Stderr = t.Output(), t.Output()
	gateway.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}
	for _, c := range objects.Units().Spec.Template.Spec.Containers {
		for _, v := range c.Env {
			value := strings.ReplaceAll(strings.ReplaceAll(v.Value, "$(FRESHET_UNIT)", "0"), "/etc/freshet", root)
			if other, ok := differs[v.Name]; ok {
				value = other
			}
			gateway.Env = append(gateway.Env, v.Name+"="+value)
		}
	}
	gateway.Env = append(gateway.Env, "FRESHET_KAFKA_TLS_SERVER_NAME=kafka") // the broker's certificate is for no address
	if err := gateway.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = gateway.Wait() // it was told to end
	})
}

func TestUnit_streamsByWhatTheOperatorTellsIt(t *testing.T) {
	authority, err := pki.NewAuthority("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	server, err := authority.Server(time.Now(), "kafka")
	if err != nil {
		t.Fatal(err)
	}
	root := stand.Dir(t)
	write(t, root, map[string][]byte{
		"broker.pem": append(server.Key, server.Cert...), "kafka/password": []byte("open sesame"), "kafka/ca.crt": authority.Cert,
		"tls/tls.crt": server.Cert, "tls/tls.key": server.Key,
	})
	p := newPlatform(t, func(c *kafka.BrokerConfig) {
		c.Secure = &kafka.Secure{KeyFile: filepath.Join(root, "broker.pem"), Users: map[string]string{"unit": "open sesame"}}
	})
	objects := unitObjects(p.broker.SecureAddress(), p.connect.URL())
	sql, monitor := stand.Port(t), stand.Port(t)
	t.Run("with a gateway", func(t *testing.T) {
		engine := stand.Engine(t)
		runGateway(t, objects, root, map[string]string{
			"FRESHET_LISTEN": fmt.Sprintf("127.0.0.1:%d", sql), "FRESHET_MONITOR_LISTEN": fmt.Sprintf("127.0.0.1:%d", monitor),
			"FRESHET_POSTGRES_URL": p.url, "FRESHET_ENGINE_ADDR": engine.TCPAddr(), "FRESHET_ENGINE_USER": engine.User, "FRESHET_ENGINE_PASSWORD": engine.Password,
			"FRESHET_PEERS": "",
		})
		p.awaitUnit(t, monitor)
		p.readFrom(t, sql)
	})
	// The unit is no more: so is all that it has left, but for its slot, which is the database's matter.
	if err := (pipeline.Kafka{}).Clean(stand.Within(t, 2*time.Minute), p.transport(), manifest.SlotPrefix(objects.HTAPCluster), 0); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"slot freshet_0a1b2c3d_0"}, p.left()); diff != "" {
		t.Errorf("left in Kafka, Connect and database (-want +got):\n%s", diff)
	}
}

// awaitUnit asks the unit as the operator does, until it is ready.
func (p *platform) awaitUnit(t *testing.T, monitor int) {
	t.Helper()
	ctx, client := stand.Within(t, 3*time.Minute), unit.NewClient(monitor)
	for {
		status, err := client.Status(ctx, "127.0.0.1")
		if err == nil && status.Ready && status.Position != "" {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the unit is not ready: %+v, %v", status, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// readFrom commits a row and reads it by the replica.
func (p *platform) readFrom(t *testing.T, port int) {
	t.Helper()
	stand.ExecAt(t, p.url, "INSERT INTO stock SELECT g, g FROM generate_series(2, 100) g")
	cfg, err := pgx.ParseConfig(p.url)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Host, cfg.Port = "127.0.0.1", uint16(port)
	conn, err := pgx.ConnectConfig(stand.Within(t, time.Minute), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var rows, sum int
	ctx := stand.Within(t, time.Minute)
	if _, err := conn.Exec(ctx, "SET freshet.route = columnar"); err != nil {
		t.Fatal(err)
	}
	if err := conn.QueryRow(ctx, "SELECT count(*), sum(v) FROM stock").Scan(&rows, &sum); err != nil || rows != 100 || sum != 5050 {
		t.Errorf("the replica has %d rows of sum %d, error %v", rows, sum, err)
	}
}
