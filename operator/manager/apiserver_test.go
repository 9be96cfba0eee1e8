//go:build kubernetes

package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/cluster"
	"github.com/freshet-io/freshet/operator/internal/cockroach"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/nodepool"
	"github.com/freshet-io/freshet/operator/internal/tenant"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

// apiServer is how tests reach the real API server that TestMain runs. It has no controllers and no nodes: tests play them.
var apiServer *rest.Config

func TestMain(m *testing.M) { os.Exit(withAPIServer(m)) }

func withAPIServer(m *testing.M) int {
	env := &envtest.Environment{CRDDirectoryPaths: []string{"../../manifests/crds"}, ErrorIfCRDPathMissing: true}
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
		}
	}()
	var err error
	if apiServer, err = env.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start the API server; make test-operator builds it:", err)
		return 1
	}
	if err := installChart(context.Background(), apiServer); err != nil {
		fmt.Fprintln(os.Stderr, "install the chart:", err)
		return 1
	}
	return m.Run()
}

// world is a namespace with an operator at work, the test's own client, and what the operator sees outside of the API server.
type world struct {
	client.Client
	t           *testing.T
	api         *rest.Config
	namespace   string
	databases   *databases
	pipelines   *pipelines
	cockroaches *cockroaches
	units       *units
	// writes are the operator's own requests that change something, without events.
	writes *recorder
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := newIdleWorld(t, apiServer)
	w.operate()
	return w
}

// newIdleWorld returns a world in which no operator is at work yet.
func newIdleWorld(t *testing.T, api *rest.Config) *world {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(api, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "test-", Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return &world{Client: c, t: t, api: api, namespace: namespace.Name, databases: &databases{}, pipelines: &pipelines{}, cockroaches: &cockroaches{}, units: &units{}, writes: &recorder{}}
}

// operate runs an operator, until the test ends or the returned function is called.
func (w *world) operate() (stop func()) {
	w.t.Helper()
	o := w.start(w.writes.wrap, func(*ctrl.Options) {})
	stop = sync.OnceFunc(func() {
		if err := o.stop(); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(stop)
	return stop
}

// running is an operator at work.
type running struct {
	manager ctrl.Manager
	// elected is closed when it is the one that works.
	elected <-chan struct{}
	// ended is closed when it has ended.
	ended <-chan struct{}
	// stop ends it, waits, and returns what it ended with.
	stop func() error
}

// start runs an operator, until the test ends or it is stopped.
func (w *world) start(wrap func(http.RoundTripper) http.RoundTripper, tune func(*ctrl.Options)) running {
	w.t.Helper()
	api := rest.CopyConfig(w.api)
	api.Impersonate.UserName = operatorAccount
	api.Wrap(wrap)
	mgr, err := newManager(api, Config{}, func(o *ctrl.Options) {
		o.Cache.DefaultNamespaces = map[string]cache.Config{w.namespace: {}} // other tests have operators of their own
		o.Controller.SkipNameValidation = ptr.To(true)
		tune(o)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	r := &cluster.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Watched: mgr.GetCache(), Databases: w.databases, Pipelines: w.pipelines, Cockroaches: w.cockroaches, Units: w.units, Clock: time.Now, Events: mgr.GetEventRecorder("test"),
		Images: manifest.Images{Gateway: "freshet:1", Engine: "clickhouse:1", PostgreSQL: "postgres:1"},
	}
	tenants := &tenant.Reconciler{Client: mgr.GetClient(), Units: w.units}
	pools := &nodepool.Reconciler{Client: mgr.GetClient(), Reader: mgr.GetAPIReader()}
	if err := errors.Join(r.Setup(mgr), tenants.Setup(mgr), pools.Setup(mgr)); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	var result error
	go func() {
		defer close(ended)
		result = mgr.Start(ctx)
	}()
	stop := func() error {
		cancel()
		<-ended
		return result
	}
	w.t.Cleanup(func() { _ = stop() })
	return running{manager: mgr, elected: mgr.Elected(), ended: ended, stop: stop}
}

// eventually waits until f returns nil.
func (w *world) eventually(f func() error) {
	w.t.Helper()
	const most = time.Minute
	ctx, cancel := context.WithTimeout(w.t.Context(), most)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("after %v still: %v", most, err)
		case <-poll.C:
		}
	}
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	o.SetNamespace(w.namespace)
	if err := w.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) get(name string, o client.Object) error {
	return w.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, o)
}

// run plays StatefulSet controller and kubelet for a pod.
func (w *world) run(name string, template corev1.PodTemplateSpec, ip string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Name = name
	var set appsv1.StatefulSet
	if dash := strings.LastIndex(name, "-"); w.get(name[:dash], &set) == nil {
		if _, is := manifest.PodNumber(set.Name, name); is {
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
		}
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	w.create(pod)
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	if err := w.Status().Update(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
	return pod
}

// databases plays source databases.
type databases struct {
	mu     sync.Mutex
	lacks  []*lack.Lack
	inUse  []string
	cleans []int
	slots  []int
	// passwords are the connection strings before and after each change; refuse is the error of the next ones.
	passwords [][2]string
	refuse    error
	// away is why the database cannot be reached; nil: it can.
	away *lack.Lack
	// provisioned are the connection strings of the superuser and the roles of each time that roles were made; unprovided is the error of the next ones.
	provisioned []provisioned
	unprovided  error
	// limits are what slots were limited to, in order.
	limits []string
}

type provisioned struct {
	superuser    string
	owner, units database.Role
}

func (d *databases) change(f func(d *databases)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f(d)
}

func (d *databases) Inspect(context.Context, database.Connection, string, int) ([]*lack.Lack, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away != nil {
		return []*lack.Lack{d.away}, nil
	}
	return d.lacks, nil
}

func (d *databases) Slots(context.Context, database.Connection, string) ([]int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away != nil {
		return nil, fmt.Errorf("connect to the database: %w", d.away)
	}
	return d.slots, nil
}

func (d *databases) Clean(_ context.Context, _ database.Connection, _ string, keep int) ([]string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cleans = append(d.cleans, keep)
	if d.away != nil {
		return nil, fmt.Errorf("connect to the database: %w", d.away)
	}
	return d.inUse, nil
}

func (d *databases) Provision(_ context.Context, superuser database.Connection, owner, units database.Role) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unprovided != nil {
		return d.unprovided
	}
	d.provisioned = append(d.provisioned, provisioned{superuser.URI, owner, units})
	return nil
}

func (d *databases) LimitSlots(_ context.Context, _ database.Connection, most string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.limits = append(d.limits, most)
	return nil
}

func (d *databases) SetPassword(_ context.Context, now, next database.Connection) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refuse != nil {
		return d.refuse
	}
	d.passwords = append(d.passwords, [2]string{now.URI, next.URI})
	return nil
}

// pipelines plays Kafka and Kafka Connect.
type pipelines struct {
	mu     sync.Mutex
	seen   debezium.Transport
	lacks  []*lack.Lack
	refuse error // of cleaning
	cleans []int
}

func (p *pipelines) change(f func(p *pipelines)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p)
}

func (p *pipelines) Inspect(_ context.Context, t debezium.Transport) ([]*lack.Lack, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = t
	return p.lacks, nil
}

func (p *pipelines) Clean(_ context.Context, _ debezium.Transport, _ string, keep int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cleans = append(p.cleans, keep)
	return p.refuse
}

// cockroaches plays CockroachDBs.
type cockroaches struct {
	mu      sync.Mutex
	refuse  error
	root    cockroach.Root
	target  cockroach.Target
	nodes   []cockroach.Node
	cancels []int
}

func (c *cockroaches) change(f func(c *cockroaches)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(c)
}

func (c *cockroaches) Prepare(_ context.Context, r cockroach.Root, t cockroach.Target) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.root, c.target = r, t
	return c.refuse
}

func (c *cockroaches) EndChangefeeds(_ context.Context, _ cockroach.Root, _ string, keep int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancels = append(c.cancels, keep)
	return c.refuse
}

func (c *cockroaches) Nodes(context.Context, cockroach.Root) ([]cockroach.Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.nodes), c.refuse
}

// units plays the units' gateways, by address. The position of each moves all the time, and so does its staleness.
type units struct {
	mu    sync.Mutex
	byIP  map[string]unit.Status
	asked int
}

func (u *units) answer(ip string, s unit.Status) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byIP == nil {
		u.byIP = map[string]unit.Status{}
	}
	u.byIP[ip] = s
}

func (u *units) questions() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asked
}

func (u *units) Status(_ context.Context, ip string) (unit.Status, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked++
	s, ok := u.byIP[ip]
	if !ok {
		return s, errors.New("connection refused")
	}
	if s.Position != "" {
		s.Position, s.StalenessMS = fmt.Sprintf("0/%X", u.asked), float64(u.asked%900)
	}
	return s, nil
}

// recorder records requests that change something, but for events, which come when they like.
type recorder struct {
	mu   sync.Mutex
	seen []string
}

func (r *recorder) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(q *http.Request) (*http.Response, error) {
		if q.Method != http.MethodGet && !strings.Contains(q.URL.Path, "/events") {
			r.mu.Lock()
			r.seen = append(r.seen, q.Method+" "+q.URL.Path)
			r.mu.Unlock()
		}
		return next.RoundTrip(q)
	})
}

// take returns what was recorded since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// external returns a cluster on an external database, and its connection Secret.
func external(units int32) (*v1alpha1.HTAPCluster, *corev1.Secret) {
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal, External: &v1alpha1.ExternalSpec{
		ConnectionSecretRef: v1alpha1.SecretReference{Name: "shop-db"},
	}}
	c.Spec.Columnar.Units = units
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-db"}, Data: map[string][]byte{"uri": []byte("postgresql://u:p@db/shop")}}
	return c, secret
}
