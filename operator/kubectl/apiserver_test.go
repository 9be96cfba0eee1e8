//go:build kubernetes

package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// environment is the real API server that TestMain runs.
var environment = &envtest.Environment{CRDDirectoryPaths: []string{"../../manifests/crds"}, ErrorIfCRDPathMissing: true}

func TestMain(m *testing.M) { os.Exit(withAPIServer(m)) }

func withAPIServer(m *testing.M) int {
	defer func() {
		if err := environment.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
		}
	}()
	if _, err := environment.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start the API server; make test-operator builds it:", err)
		return 1
	}
	return m.Run()
}

// ask runs a command as a user of the API server, whose units' ports are at the given addresses.
func ask(t *testing.T, config []byte, ports map[int]string, args ...string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	p := testPlugin(&out)
	p.forwarder = newPodForwarder
	if ports != nil {
		p.forwarder = func(*rest.Config, *rest.RESTClient) forwarder { return &world{ports: ports} }
	}
	cmd := p.command()
	cmd.SetArgs(append(args, "--kubeconfig", path))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// namespace makes a namespace, with an HTAPCluster of two units of which one has a pod.
func namespace(t *testing.T) string {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(environment.Config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	create := func(o client.Object) {
		t.Helper()
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	create(n)
	shop := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: "shop"}}
	shop.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal, External: &v1alpha1.ExternalSpec{
		ConnectionSecretRef: v1alpha1.SecretReference{Name: "shop-db"},
	}}
	create(shop)
	shop.Status = v1alpha1.HTAPClusterStatus{
		Endpoint: "shop.ns.svc:5432", ConnectionSecret: "shop-db",
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "UnitsStale", Message: "1 of 2 units serve", LastTransitionTime: metav1.Now()}},
		Units: []v1alpha1.UnitStatus{
			{Name: "shop-unit-0", Phase: v1alpha1.UnitFresh}, {Name: "shop-unit-1", Phase: v1alpha1.UnitPending, Message: "its pod does not exist yet"},
		},
	}
	if err := c.Status().Update(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: n.Name, Name: "shop-unit-0", Labels: manifest.Selector(shop)}}
	pod.Spec.Containers = []corev1.Container{{Name: "gateway", Image: "freshet"}}
	create(pod)
	pod.Status.Phase = corev1.PodRunning
	if err := c.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return n.Name
}

// monitor plays the monitoring port of a unit's gateway.
func monitor(t *testing.T) map[int]string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"ready":true,"position":"0/AB","staleness_ms":12.4,"tables":[{"table":"public.a","phase":"ready"},
			{"table":"public.b","phase":"stopped","stopped":{"code":"NoKey","detail":"it has no key","remedy":"add one"}}]}`)
	})
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# HELP x y\n%s 3145728\n%s -1\n", metricRetained, metricSafe)
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return map[int]string{manifest.MonitorPort: s.Listener.Addr().String()}
}

func TestStatus_tellsConditionsAndUnits(t *testing.T) {
	n, ports := namespace(t), monitor(t)
	out, err := ask(t, environment.KubeConfig, ports, "status", "-n", n, "shop")
	if err != nil {
		t.Fatal(err)
	}
	want := `shop in namespace ` + n + `: not ready
endpoint shop.ns.svc:5432, credentials in Secret shop-db

CONDITION   STATUS   REASON       SINCE   MESSAGE
Ready       False    UnitsStale   AGE     1 of 2 units serve

UNIT          PHASE     STALENESS   TABLES   POSITION   MESSAGE
shop-unit-0   Fresh     12ms        1/2      0/AB       table public.b: NoKey: it has no key; add one
shop-unit-1   Pending   -           -        -          its pod does not exist yet
`
	lines := strings.Split(out, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "Ready ") {
			fields := strings.Fields(line)
			age := fields[3]
			lines[i] = strings.Replace(line, age+strings.Repeat(" ", len("SINCE")-len(age)), "AGE  ", 1)
		}
	}
	if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestStatus_isReadByPrograms(t *testing.T) {
	n, ports := namespace(t), monitor(t)
	text, err := ask(t, environment.KubeConfig, ports, "status", "-n", n, "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	var fromJSON, fromYAML []Cluster
	if err := json.Unmarshal([]byte(text), &fromJSON); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if text, err = ask(t, environment.KubeConfig, ports, "status", "-n", n, "-o", "yaml"); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(text), &fromYAML); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	if diff := cmp.Diff(fromJSON, fromYAML); diff != "" {
		t.Errorf("JSON and YAML differ:\n%s", diff)
	}
	staleness, retained := 12.4, int64(3145728)
	want := []Unit{
		{Name: "shop-unit-0", Phase: "Fresh", Message: "table public.b: NoKey: it has no key; add one", StalenessMS: &staleness, Position: "0/AB",
			Tables: 1, Selected: 2, RetainedBytes: &retained},
		{Name: "shop-unit-1", Phase: "Pending", Message: "its pod does not exist yet", Unknown: "it has no pod"},
	}
	if diff := cmp.Diff(want, fromJSON[0].Units); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
	if _, err := ask(t, environment.KubeConfig, ports, "status", "-o", "xml"); err == nil || !strings.Contains(err.Error(), "use json or yaml") {
		t.Errorf("-o xml: %v", err)
	}
}

func TestLag_tellsWhatTheDatabaseKeeps(t *testing.T) {
	out, err := ask(t, environment.KubeConfig, monitor(t), "lag", "-n", namespace(t), "shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"shop      shop-unit-0   Fresh     12ms        0/AB       3.0 MiB    -", "shop-unit-1   Pending   -"} {
		if !strings.Contains(out, want) {
			t.Errorf("want %q in:\n%s", want, out)
		}
	}
}

func TestStatus_saysThatAUnitCannotBeAsked(t *testing.T) {
	out, err := ask(t, environment.KubeConfig, nil, "status", "-n", namespace(t)) // the API server has no kubelet to forward a port by
	if err != nil || !strings.Contains(out, "forward port 8080 of pod shop-unit-0") {
		t.Errorf("%v; status is\n%s", err, out)
	}
}

func TestErrors_sayWhatToDo(t *testing.T) {
	n := namespace(t)
	stranger, err := environment.AddUser(envtest.User{Name: "stranger"}, environment.Config)
	if err != nil {
		t.Fatal(err)
	}
	config, err := stranger.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	bare := httptest.NewServer(http.NotFoundHandler()) // as the path of a group that no CRD defines
	t.Cleanup(bare.Close)
	for _, c := range []struct {
		name   string
		config []byte
		args   []string
		want   []string
	}{
		{"no such cluster", environment.KubeConfig, []string{"status", "-n", n, "sohp"}, []string{`"sohp" not found`, "kubectl get htapclusters --all-namespaces"}},
		{"no clusters", environment.KubeConfig, []string{"lag", "-n", "default"}, []string{`no HTAPCluster in namespace "default"`, "--namespace"}},
		{"no permission", config, []string{"status", "-n", n}, []string{"forbidden", "docs/kubectl.md"}},
		{"no units", environment.KubeConfig, []string{"explain", "-n", n, "shop", "SELECT 1"}, []string{"not found", "kubectl freshet status says what is missing"}},
		{"no CRDs", environment.KubeConfig, []string{"status", "--server", bare.URL}, []string{"knows no HTAPClusters", "install Freshet"}},
		{"no such context", environment.KubeConfig, []string{"status", "--context", "moon"}, []string{`context "moon" does not exist`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := ask(t, c.config, nil, c.args...)
			if err == nil {
				t.Fatalf("no error, but\n%s", out)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in: %v", want, err)
				}
			}
		})
	}
}

func TestLag_watchesUntilItIsInterrupted(t *testing.T) {
	n, ports := namespace(t), monitor(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, environment.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	p := testPlugin(&bytes.Buffer{})
	rounds := &countingWriter{after: 3, do: interrupt}
	p.out = rounds
	made := 0
	p.forwarder = func(*rest.Config, *rest.RESTClient) forwarder {
		return forwardFunc(func() *tunnel { made++; return &tunnel{addr: ports[manifest.MonitorPort], close: func() {}} })
	}
	cmd := p.command()
	cmd.SetArgs([]string{"lag", "--watch", "--interval", "10ms", "-n", n, "--kubeconfig", path})
	if err := cmd.ExecuteContext(ctx); err != nil {
		t.Fatal(err)
	}
	if rounds.tables < 3 || made != 1 {
		t.Errorf("%d rounds through %d tunnels", rounds.tables, made)
	}
}

// forwardFunc is a forwarder that has one tunnel.
type forwardFunc func() *tunnel

func (f forwardFunc) forward(context.Context, string, string, int) (*tunnel, error) { return f(), nil }

// countingWriter counts tables, and does something after a number of them.
type countingWriter struct {
	tables, after int
	do            func()
}

func (w *countingWriter) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("UNTIL LOST")) {
		if w.tables++; w.tables == w.after {
			w.do()
		}
	}
	return len(b), nil
}
