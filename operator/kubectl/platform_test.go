package kubectl

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/pki"
)

// world is what Kubernetes knows of one cluster, whose only unit is somewhere on loopback.
type world struct {
	object  v1alpha1.HTAPCluster
	pods    []corev1.Pod
	secrets map[string]map[string][]byte
	// ports are the addresses of the unit's ports.
	ports map[int]string
}

func (w *world) cluster(context.Context, string, string) (*v1alpha1.HTAPCluster, error) {
	return &w.object, nil
}

func (w *world) clusters(context.Context, string) ([]v1alpha1.HTAPCluster, error) {
	return []v1alpha1.HTAPCluster{w.object}, nil
}

func (w *world) units(context.Context, *v1alpha1.HTAPCluster) ([]corev1.Pod, error) {
	return w.pods, nil
}

func (w *world) secret(_ context.Context, _, name string) (*corev1.Secret, error) {
	return &corev1.Secret{Data: w.secrets[name]}, nil
}

func (w *world) forward(_ context.Context, _, _ string, port int) (*tunnel, error) {
	return &tunnel{addr: w.ports[port], close: func() {}}, nil
}

func (w *world) access() *access { return &access{objects: w, forwarder: w, namespace: "n"} }

// newWorld returns a cluster with one unit in service, and the certificate of its endpoint.
func newWorld(t *testing.T) (*world, tls.Certificate) {
	t.Helper()
	w := &world{ports: map[int]string{}, secrets: map[string]map[string][]byte{}}
	w.object.Namespace, w.object.Name = "n", "shop"
	w.object.Status.ConnectionSecret = "shop-db"
	w.object.Status.Units = []v1alpha1.UnitStatus{{Name: "shop-unit-0", Phase: v1alpha1.UnitFresh}}
	w.pods = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "shop-unit-0", UID: "1"}}}
	w.pods[0].Status.Phase = corev1.PodRunning
	w.pods[0].Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	authority, err := pki.NewAuthority("test", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	issued, err := authority.Server(time.Now(), manifest.Hosts(&w.object)...)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(issued.Cert, issued.Key)
	if err != nil {
		t.Fatal(err)
	}
	w.secrets["shop-ca"] = map[string][]byte{"ca.crt": authority.Cert}
	return w, certificate
}

// runUnit runs a real gateway between a real PostgreSQL and a real engine as the unit.
func (w *world) runUnit(t *testing.T, certificate tls.Certificate, prepare ...string) {
	t.Helper()
	oltp, engine := stand.Postgres(t), stand.Engine(t)
	stand.ExecAt(t, oltp.URL("postgres"), prepare...)
	w.secrets["shop-db"] = map[string][]byte{"uri": []byte(oltp.URL("postgres"))}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan server.Info, 1), make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, server.Config{
			Listen: "127.0.0.1:0", MonitorListen: "127.0.0.1:0", PostgresURL: oltp.URL("postgres"),
			EngineAddr: engine.TCPAddr(), EngineUser: engine.User, EnginePassword: engine.Password,
			TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		}, func(i server.Info) { ready <- i })
	}()
	var info server.Info
	select {
	case info = <-ready:
	case err := <-ended:
		t.Fatalf("gateway ended at once: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("gateway ended with %v", err)
		}
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for limit := time.After(time.Minute); !info.Status().Ready; {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("status is still %+v", info.Status())
		}
	}
	w.ports[manifest.SQLPort], w.ports[manifest.MonitorPort] = info.Addr.String(), info.MonitorAddr.String()
}

// testPlugin returns a plugin that writes to the buffer.
func testPlugin(out *bytes.Buffer) *plugin {
	return &plugin{kubeconfig: newKubeconfig(), in: strings.NewReader(""), out: out, errOut: out, run: (*exec.Cmd).Run,
		forwarder: func(*rest.Config, *rest.RESTClient) forwarder { return &world{} }}
}

func TestPlugin_worksOnARealUnit(t *testing.T) {
	w, certificate := newWorld(t)
	w.runUnit(t, certificate, "CREATE TABLE sale (id int PRIMARY KEY, region text)", "INSERT INTO sale VALUES (1, 'north')")
	var out bytes.Buffer
	p := testPlugin(&out)
	expect := func(want ...string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("want %q in:\n%s", text, out.String())
			}
		}
		out.Reset()
	}
	e, err := w.access().endpoint(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	t.Run("explain", func(t *testing.T) {
		if err := p.explain(t.Context(), e, "SELECT region, count(*) FROM sale GROUP BY region"); err != nil {
			t.Fatal(err)
		}
		expect("Route: columnar", "Table: public.sale", "Engine statement: ")
		if err := p.explain(t.Context(), e, "SELECT 1; DELETE FROM sale"); err == nil {
			t.Error("two statements were taken")
		}
	})
	t.Run("connect", func(t *testing.T) {
		psql, err := exec.LookPath("psql")
		if err != nil {
			t.Fatal(err)
		}
		p.run = func(cmd *exec.Cmd) error {
			if strings.Contains(strings.Join(cmd.Args, " "), e.password) {
				t.Error("the password is an argument")
			}
			return cmd.Run()
		}
		if err := p.connect(e, psql, []string{"-AtXc", "SELECT region FROM sale"}); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		expect("north")
	})
	t.Run("lag", func(t *testing.T) {
		m := newMonitors(w.access())
		defer m.close()
		if err := p.lag(t.Context(), m, nil); err != nil {
			t.Fatal(err)
		}
		expect("shop-unit-0", "Fresh", "0/", "B")
	})
	t.Run("status", func(t *testing.T) {
		found, err := status(t.Context(), w.access(), nil, false)
		if err != nil {
			t.Fatal(err)
		}
		u := found[0].Units[0]
		if u.StalenessMS == nil || u.Position == "" || u.Tables != 1 || u.Selected != 1 || u.RetainedBytes == nil || u.Unknown != "" {
			t.Errorf("unit is %+v", u)
		}
	})
	t.Run("bench", func(t *testing.T) {
		var o benchOptions
		o.workload.Duration, o.workload.TransactionClients, o.workload.AnalyticalClients, o.workload.Queries = 2*time.Second, 1, 1, "batchdb"
		if _, err := p.bench(t.Context(), e, o); err == nil || !strings.Contains(err.Error(), "--load 2") {
			t.Errorf("bench without tables: %v", err)
		}
		o.load = 1
		r, err := p.bench(t.Context(), e, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Text(&out); err != nil {
			t.Fatal(err)
		}
		expect("loading 1 warehouses", "running for 2s on unit shop-unit-0", "transactions/s", "staleness p99 ms", "violations")
		if _, err := p.bench(t.Context(), e, o); err == nil || !strings.Contains(err.Error(), "leave --load out") {
			t.Errorf("bench that would load again: %v", err)
		}
	})
}

func TestEndpoint_takesNoOtherCertificate(t *testing.T) {
	w, _ := newWorld(t)
	_, others := newWorld(t)
	w.runUnit(t, others)
	e, err := w.access().endpoint(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.connect(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a session with another's certificate: %v", err)
	}
	g, err := openGate(e)
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	if conn, err := g.dial(); err == nil {
		conn.Close()
		t.Error("the gate took another's certificate")
	}
}

func TestEndpoint_saysWhyThereIsNone(t *testing.T) {
	uri := (&url.URL{Scheme: "postgresql", User: url.UserPassword("u", "p"), Host: "db:5432", Path: "/shop"}).String()
	for _, c := range []struct {
		name   string
		change func(w *world)
		want   string
	}{
		{"no unit is ready", func(w *world) { w.pods[0].Status.Conditions = nil }, "none of 1 units of HTAPCluster \"shop\" is ready; kubectl freshet status shop"},
		{"not looked at", func(w *world) { w.object.Status.ConnectionSecret = "" }, "has no connection Secret yet; kubectl freshet status shop"},
		{"no authority", func(w *world) { delete(w.secrets, "shop-ca") }, "cannot be verified"},
		{"no string", func(w *world) { w.secrets["shop-db"]["uri"] = []byte("mysql://x") }, "write it as postgresql://"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, _ := newWorld(t)
			w.secrets["shop-db"] = map[string][]byte{"uri": []byte(uri)}
			c.change(w)
			if _, err := w.access().endpoint(t.Context(), "shop"); err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("error is %v, want %q", err, c.want)
			}
		})
	}
}

func TestConnect_saysThatPsqlIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out bytes.Buffer
	cmd := testPlugin(&out).command()
	cmd.SetArgs([]string{"connect", "shop"})
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "psql is missing") || !strings.Contains(err.Error(), "postgresql-client") {
		t.Errorf("error is %v", err)
	}
}
