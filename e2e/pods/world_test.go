//go:build e2e

package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// world is a namespace for one test, in which nothing but restricted pods may run.
type world struct {
	*installation
	t         *testing.T
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	ns := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-", Labels: map[string]string{PodSecurityLabel: "restricted"},
	}}
	if err := shared.Create(t.Context(), &ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.Delete(context.Background(), &ns); err != nil {
			t.Error(err)
		}
	})
	return &world{installation: shared, t: t, namespace: ns.Name}
}

// patience is how long a cluster has to become what it should be. Nothing here takes longer than a minute on an idle machine.
const patience = 4 * time.Minute

// eventually calls f until it returns nil, and fails the test with its last error when that takes too long.
func (w *world) eventually(what string, f func(ctx context.Context) error) {
	w.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(context.WithoutCancel(w.t.Context()), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := f(ctx)
		if ctx.Err() == nil { // what fails because the time is over tells nothing
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		w.t.Fatalf("%s: %v; last: %v", what, err, last)
	}
}

func (w *world) get(name string, o client.Object) error {
	return w.Get(context.WithoutCancel(w.t.Context()), client.ObjectKey{Namespace: w.namespace, Name: name}, o)
}

func (w *world) create(o client.Object) {
	w.t.Helper()
	o.SetNamespace(w.namespace)
	if err := w.Create(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// change changes an object as kubectl edit does.
func (w *world) change(o client.Object, name string, edit func()) {
	w.t.Helper()
	w.eventually("change "+name, func(ctx context.Context) error {
		if err := w.get(name, o); err != nil {
			return err
		}
		edit()
		return w.Update(ctx, o)
	})
}

func resources(cpu, memory string) v1alpha1.ResourcesSpec {
	return v1alpha1.ResourcesSpec{CPU: resource.MustParse(cpu), Memory: resource.MustParse(memory)}
}

// builtin is a cluster with a database of the operator's, so small that three units have their place on two processors.
func builtin(units int32) *v1alpha1.HTAPCluster {
	storage := v1alpha1.DataStorageSpec{Size: resource.MustParse("1Gi")}
	return &v1alpha1.HTAPCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: v1alpha1.HTAPClusterSpec{
			OLTP: v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{
				Database: "shop", Storage: storage, Resources: resources("300m", "512Mi"),
			}},
			Columnar:       v1alpha1.ColumnarSpec{Units: units, Storage: storage, Resources: resources("350m", "1Gi")},
			Gateway:        v1alpha1.GatewaySpec{Resources: resources("150m", "256Mi")},
			DeletionPolicy: v1alpha1.Delete,
		},
	}
}

// start creates a cluster, which the end of the test deletes, and waits until it is ready.
func (w *world) start(c *v1alpha1.HTAPCluster) {
	w.t.Helper()
	w.create(c)
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.show(w.t.Output(), w.namespace)
		}
		w.remove() // also then: others need the room
	})
	w.awaitReady(c.Spec.Columnar.Units)
	w.connect(w.url()) // nodes learn of a new Service a moment later
}

// awaitReady waits until all units of the present generation are in service.
func (w *world) awaitReady(units int32) *v1alpha1.HTAPCluster {
	w.t.Helper()
	return w.await(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready", func(c *v1alpha1.HTAPCluster) error {
		if want := fmt.Sprintf("%d/%d", units, units); c.Status.Fresh != want {
			return fmt.Errorf("fresh: %s, want %s", c.Status.Fresh, want)
		}
		return nil
	})
}

// await waits until a condition of the present generation has a status and a reason, and all of also holds.
func (w *world) await(condition string, status metav1.ConditionStatus, reason string, also ...func(*v1alpha1.HTAPCluster) error) *v1alpha1.HTAPCluster {
	w.t.Helper()
	var c v1alpha1.HTAPCluster
	w.eventually(fmt.Sprintf("condition %s=%s by %s", condition, status, reason), func(context.Context) error {
		if err := w.get("shop", &c); err != nil {
			return err
		}
		have := meta.FindStatusCondition(c.Status.Conditions, condition)
		if have == nil || have.Status != status || have.Reason != reason || have.ObservedGeneration != c.Generation {
			return fmt.Errorf("conditions %+v", c.Status.Conditions)
		}
		for _, f := range also {
			if err := f(&c); err != nil {
				return err
			}
		}
		return nil
	})
	return &c
}

// url is the endpoint's connection string, as a user finds it.
func (w *world) url() string {
	w.t.Helper()
	var s corev1.Secret
	w.eventually("the Secret with the endpoint's URI", func(context.Context) error { return w.get("shop-oltp", &s) })
	return string(s.Data["endpoint-uri"])
}

// direct is the database's own.
func (w *world) direct() string { return w.directAs("shop-oltp") }

// directAs is the database's own connection string for the role in a Secret.
func (w *world) directAs(secret string) string {
	w.t.Helper()
	var s corev1.Secret
	if err := w.get(secret, &s); err != nil {
		w.t.Fatal(err)
	}
	authority := filepath.Join(w.t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, s.Data["ca.crt"], 0o600); err != nil {
		w.t.Fatal(err)
	}
	return string(s.Data["uri"]) + "&sslrootcert=" + authority
}

func (w *world) connect(url string) *pgx.Conn {
	w.t.Helper()
	var conn *pgx.Conn
	w.eventually("connect", func(ctx context.Context) (err error) { // a Service follows its pods with a delay
		conn, err = pgx.Connect(ctx, url)
		return err
	})
	w.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

func (w *world) exec(conn *pgx.Conn, sql string) {
	w.t.Helper()
	if _, err := conn.PgConn().Exec(w.t.Context(), sql).ReadAll(); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// remove deletes the cluster and waits until nothing of it is left but what it keeps.
func (w *world) remove(keeps ...string) {
	w.t.Helper()
	err := w.Delete(context.Background(), &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: w.namespace}})
	if client.IgnoreNotFound(err) != nil { // the test may have ended after it
		w.t.Fatal(err)
	}
	w.eventually("the cluster's end", func(context.Context) error {
		if err := w.get("shop", &v1alpha1.HTAPCluster{}); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is still there"), err)
		}
		left, err := w.objects()
		for _, name := range keeps {
			delete(left, name)
		}
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("objects are left: %v", left)
		}
		return err
	})
}
