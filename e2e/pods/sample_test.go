//go:build e2e

package pods

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

func TestSample_becomesReadyAndLeavesNothingBehind(t *testing.T) {
	t.Parallel() // it leaves the machine alone for most of its time
	w := newWorld(t)
	began := time.Now()
	if err := Command(t.Context(), "kubectl", "apply", "--namespace", w.namespace, "-f", "../../manifests/samples/builtin.yaml"); err != nil {
		t.Fatal(err)
	}
	w.awaitReady(1)
	t.Logf("kubectl apply to Ready: %.1f s", time.Since(began).Seconds())

	conn := w.connect(w.url())
	w.exec(conn, "CREATE TABLE item(id int PRIMARY KEY, price numeric(10,2) NOT NULL)")
	w.exec(conn, "INSERT INTO item SELECT i, i * 1.25 FROM generate_series(1, 1000) AS i")
	w.exec(conn, "SET freshet.freshness = 'strong'; SET freshet.route = 'columnar'")
	var sum string
	w.eventually("an answer from the replica", func(ctx context.Context) error {
		return conn.QueryRow(ctx, "SELECT sum(price)::text FROM item").Scan(&sum)
	})
	if want := "625625.00"; sum != want {
		t.Errorf("sum %s, want %s", sum, want)
	}
	var plain int
	if err := w.connect(w.directAs("shop-oltp-superuser")).QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE client_addr IS NOT NULL AND NOT ssl").Scan(&plain); err != nil || plain > 0 {
		t.Errorf("%d connections to the database are not encrypted, %v", plain, err)
	}
	w.awaitReady(1)
	w.requirePlugin()
	w.requireNoWrites()
	w.requireRotation()
	w.requireDedicatedNodes()

	// The sample says nothing of a deletion policy: the database's volume is kept, and the Secrets that open it.
	const volume = "data-shop-oltp-0"
	w.remove("PersistentVolumeClaim "+volume, "Secret shop-oltp", "Secret shop-oltp-superuser", "Secret shop-oltp-units")
	if err := w.Delete(t.Context(), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: volume, Namespace: w.namespace}}); err != nil {
		t.Error(err)
	}
}

// requireRotation asks for other passwords, and requires that they come into force, and that the former do not let in any more.
func (w *world) requireRotation() {
	w.t.Helper()
	before, inputs := w.url(), w.pod("shop-unit-0").Annotations
	var c v1alpha1.HTAPCluster
	w.change(&c, "shop", func() { c.Annotations = map[string]string{"freshet.io/rotate-passwords": "now"} })
	w.eventually("a unit with other passwords", func(context.Context) error {
		if w.url() == before {
			return errors.New("the Secret has the former one")
		}
		var unit corev1.Pod
		err := w.get("shop-unit-0", &unit)
		if err == nil && maps.Equal(unit.Annotations, inputs) {
			err = errors.New("the unit has not been restarted")
		}
		return err
	})
	w.awaitReady(1)
	conn := w.connect(w.url())
	w.exec(conn, "INSERT INTO item VALUES (1001, 1); SET freshet.freshness = 'strong'; SET freshet.route = 'columnar'")
	w.eventually("an answer from the replica", func(ctx context.Context) error {
		var n int
		err := conn.QueryRow(ctx, "SELECT count(*) FROM item").Scan(&n)
		if err == nil && n != 1001 {
			err = fmt.Errorf("%d rows", n)
		}
		return err
	})
	var refusal *pgconn.PgError
	if conn, err := pgx.Connect(w.t.Context(), before); !errors.As(err, &refusal) || refusal.Code != "28P01" {
		if err == nil {
			_ = conn.Close(w.t.Context())
		}
		w.t.Errorf("the former password: %v, want 28P01", err)
	}
}

// requireDedicatedNodes asks for a node of its own for the unit, and requires that it gets one.
func (w *world) requireDedicatedNodes() {
	w.t.Helper()
	var c v1alpha1.HTAPCluster
	w.change(&c, "shop", func() { c.Spec.Isolation.Mode = v1alpha1.IsolationDedicated })
	var unit corev1.Pod
	w.eventually("a unit that keeps off the database's node", func(context.Context) error {
		err := w.get("shop-unit-0", &unit)
		if err == nil && (unit.Spec.Affinity == nil || unit.Spec.NodeName == "") {
			err = errors.New("the unit has not been replaced")
		}
		return err
	})
	if database := w.pod("shop-oltp-0").Spec.NodeName; database == unit.Spec.NodeName {
		w.t.Errorf("the unit and the database run on node %s", database)
	}
	w.awaitReady(1)
	w.await(v1alpha1.ConditionIsolationApplied, metav1.ConditionTrue, "Dedicated")
}

// steady is how long a cluster is watched that should cause no write.
const steady = time.Minute

// requireNoWrites fails the test if any object of the namespace is written while nothing happens.
func (w *world) requireNoWrites() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), steady)
	defer cancel()
	before, err := w.withEvents()
	if err != nil {
		w.t.Fatal(err)
	}
	<-ctx.Done() // the assertion is about this time
	after, err := w.withEvents()
	if err != nil {
		w.t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		w.t.Errorf("objects were written in %s in which nothing happened (-before +after):\n%s", steady, diff)
	}
}
