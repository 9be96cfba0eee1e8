//go:build kubernetes

package manager

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

func TestCluster_runsACockroachDB(t *testing.T) {
	w := newWorld(t)
	c := cockroachDB(0)
	w.cockroaches.change(func(c *cockroaches) { c.refuse = &pgconn.PgError{Code: "42501", Message: "only admins"} })
	w.create(c)
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "DatabaseStarting")
	var set appsv1.StatefulSet
	if err := w.get("shop-oltp", &set); err != nil {
		t.Fatal(err)
	}
	var job batchv1.Job
	if err := w.get("shop-oltp-init", &job); err != nil {
		t.Fatal(err)
	}
	// The namespace refuses pods that are not restricted.
	w.run("shop-oltp-init", job.Spec.Template, "10.0.2.9")
	for i := range 3 {
		w.run(fmt.Sprintf("shop-oltp-%d", i), set.Spec.Template, fmt.Sprintf("10.0.2.%d", i+1))
	}
	set.Status.Replicas, set.Status.ReadyReplicas = 3, 3
	if err := w.Status().Update(t.Context(), &set); err != nil {
		t.Fatal(err)
	}
	got := w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "DatabaseUnreachable")
	if m := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionOLTPReady).Message; !strings.Contains(m, "only admins (42501)") {
		t.Errorf("OLTPReady says %q", m)
	}
	w.cockroaches.change(func(c *cockroaches) { c.refuse = nil })
	units := w.startUnits(fresh)
	got = w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	if source := gatewayEnv(units)["FRESHET_SOURCE"]; source != "cockroachdb" {
		t.Errorf("the units' source is %q", source)
	}
	var connection, sink corev1.Secret
	if err := errors.Join(w.get(got.Status.ConnectionSecret, &connection), w.get("shop-sink", &sink)); err != nil {
		t.Fatal(err)
	}
	if address := string(sink.Data["sink"]); address != "kafka://kafka:9092" {
		t.Errorf("changefeeds send to %q", address)
	}
	w.cockroaches.change(func(c *cockroaches) {
		uri, password := string(connection.Data["uri"]), c.target.Password
		want := "postgresql://freshet:" + password + "@shop-oltp." + w.namespace + ".svc:26257/app?sslmode=verify-full"
		if uri != want || password == "" || c.target.Database != "app" || c.root.Host != "shop-oltp."+w.namespace+".svc" || string(c.root.CA) != string(connection.Data["ca.crt"]) {
			t.Errorf("clients use %q, the operator %s and made %+v", uri, c.root.Host, c.target)
		}
	})
	w.isSteady()
	// Units go on while it does not answer, and nothing but that is told.
	w.cockroaches.change(func(c *cockroaches) { c.refuse = errors.New("connection refused") })
	w.look(1)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "DatabaseUnreachable")
	w.isSteady()
	w.cockroaches.change(func(c *cockroaches) { c.refuse = nil })
	w.look(1)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.endCockroachDB(c)
}

// cockroachDB returns a cluster with so many nodes; 0: the default.
func cockroachDB(nodes int32) *v1alpha1.HTAPCluster {
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EngineCockroachDB, CockroachDB: &v1alpha1.CockroachDBSpec{Image: "cockroach:v26.1", Replicas: nodes}}
	c.Spec.CDC = v1alpha1.CDCSpec{Transport: v1alpha1.TransportKafka, Kafka: &v1alpha1.KafkaSpec{
		Provider: v1alpha1.KafkaExternal, External: &v1alpha1.ExternalKafkaSpec{BootstrapServers: []v1alpha1.BootstrapServer{"kafka:9092"}},
	}}
	return c
}

// endCockroachDB deletes a cluster whose database does not answer at first.
func (w *world) endCockroachDB(c *v1alpha1.HTAPCluster) {
	w.t.Helper()
	w.cockroaches.change(func(c *cockroaches) {
		if slices.Min(c.cancels) < 1 {
			w.t.Errorf("changefeeds of a unit that runs were canceled: %v", c.cancels)
		}
		c.refuse = errors.New("connection refused")
	})
	if err := w.Delete(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "StoppingUnits")
	w.end("shop-unit-0")
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "CleaningPipeline")
	w.pipelines.change(func(p *pipelines) {
		if slices.Contains(p.cleans, 0) {
			w.t.Error("topics were deleted while changefeeds wrote them")
		}
	})
	w.cockroaches.change(func(c *cockroaches) { c.refuse = nil })
	w.eventually(func() error {
		if err := w.get("shop", c); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the cluster is still there: %v", err)
		}
		return w.cleaned(0)
	})
}
