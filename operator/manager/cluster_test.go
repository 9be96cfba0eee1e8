//go:build kubernetes

package manager

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

// awaitCondition waits until a cluster's condition has a status and reason for the present generation.
func (w *world) awaitCondition(condition string, status metav1.ConditionStatus, reason string) *v1alpha1.HTAPCluster {
	w.t.Helper()
	var c v1alpha1.HTAPCluster
	w.eventually(func() error {
		if err := w.get("shop", &c); err != nil {
			return err
		}
		have := meta.FindStatusCondition(c.Status.Conditions, condition)
		if have == nil || have.Status != status || have.Reason != reason || have.ObservedGeneration != c.Generation {
			return fmt.Errorf("condition %s is %+v", condition, have)
		}
		return nil
	})
	return &c
}

var fresh = unit.Status{Ready: true, Position: "0/1", Tables: []unit.Table{{Table: "public.t", Phase: "ready"}}}

// startUnits waits for the StatefulSet and runs its pods, which answer as given.
func (w *world) startUnits(answers ...unit.Status) *appsv1.StatefulSet {
	w.t.Helper()
	var set appsv1.StatefulSet
	w.eventually(func() error { return w.get("shop-unit", &set) })
	for i, a := range answers {
		ip := fmt.Sprintf("10.0.0.%d", i+1)
		w.units.answer(ip, a)
		w.run(fmt.Sprintf("shop-unit-%d", i), set.Spec.Template, ip)
	}
	return &set
}

// serving creates a cluster on an external database, whose one unit serves, and waits until the cluster is Ready.
func (w *world) serving() (*v1alpha1.HTAPCluster, *corev1.Secret) {
	w.t.Helper()
	c, secret := external(1)
	w.create(secret)
	w.create(c)
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	return c, secret
}

func TestCluster_becomesReadyWhenAllItsUnitsServe(t *testing.T) {
	w := newWorld(t)
	c, secret := external(2)
	w.create(c)
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "SecretNotFound")
	w.create(secret)
	copying := fresh
	copying.Ready, copying.Tables = false, []unit.Table{{Table: "public.t", Phase: "copying"}}
	w.startUnits(fresh, copying)
	w.awaitCondition(v1alpha1.ConditionSnapshotConsistent, metav1.ConditionFalse, "TablesCopying")
	w.units.answer("10.0.0.2", fresh)
	got := w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	for i := range got.Status.Units {
		got.Status.Units[i].Position = "" // it moves
	}
	got.Status.Conditions = nil
	want := v1alpha1.HTAPClusterStatus{
		ObservedGeneration: got.Generation, Staleness: "1s", Fresh: "2/2", Replicas: 2, ConnectionSecret: "shop-db",
		Selector: "freshet.io/cluster=shop,freshet.io/component=unit", Endpoint: "shop." + w.namespace + ".svc:5432",
		Units: []v1alpha1.UnitStatus{
			{Name: "shop-unit-0", Phase: v1alpha1.UnitFresh, Staleness: "1s"}, {Name: "shop-unit-1", Phase: v1alpha1.UnitFresh, Staleness: "1s"},
		},
	}
	if diff := cmp.Diff(want, got.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	stale := fresh
	stale.Ready = false
	w.units.answer("10.0.0.2", stale)
	w.look(1) // as when the kubelet sees it unready
	w.awaitCondition(v1alpha1.ConditionReplicasFresh, metav1.ConditionFalse, "UnitsStale")
	stopped := fresh
	stopped.Stopped = &unit.Stopped{Code: "SlotLost", Detail: "gone", Remedy: "reset"}
	w.units.answer("10.0.0.2", stopped)
	w.look(1)
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionFalse, "SlotLost")
}

func TestCluster_causesNoWriteWhileNothingChanges(t *testing.T) {
	w := newWorld(t)
	w.serving()
	w.look(2) // what was begun before Ready was written has ended
	w.writes.take()
	w.look(5)
	if writes := w.writes.take(); len(writes) > 0 {
		t.Errorf("the operator wrote:\n%v", writes)
	}
	w.operate() // another operator, which has seen nothing yet, finds nothing to do either
	w.look(5)
	if writes := w.writes.take(); len(writes) > 0 {
		t.Errorf("a new operator wrote:\n%v", writes)
	}
}

// look makes the operator look at the cluster n times more.
func (w *world) look(n int) {
	w.t.Helper()
	for range n {
		asked := w.units.questions()
		w.wake()
		w.eventually(func() error {
			if w.units.questions() == asked {
				return fmt.Errorf("the operator has not asked again after %d times", asked)
			}
			return nil
		})
	}
}

// isSteady requires that the operator writes nothing while nothing changes.
func (w *world) isSteady() {
	w.t.Helper()
	w.look(2)
	w.writes.take()
	w.look(3)
	if writes := w.writes.take(); len(writes) > 0 {
		w.t.Errorf("nothing changed, and the operator wrote:\n%v", writes)
	}
}

// wake changes a pod, which makes the operator look at its cluster now and not only when it is time.
func (w *world) wake() {
	w.t.Helper()
	var pod corev1.Pod
	if err := w.get("shop-unit-0", &pod); err != nil {
		w.t.Fatal(err)
	}
	before := pod.DeepCopy()
	pod.Annotations["test"] = rand.Text()
	if err := w.Patch(w.t.Context(), &pod, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

func TestCluster_repairsWhatOthersChange(t *testing.T) {
	w := newWorld(t)
	c, secret := external(1)
	w.create(secret)
	w.create(c)
	set := w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	before := set.DeepCopy()
	image := set.Spec.Template.Spec.Containers[0].Image
	set.Spec.Template.Spec.Containers[0].Image = "other:2"
	if err := w.Patch(t.Context(), set, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		if err := w.get("shop-unit", set); err != nil {
			return err
		}
		if is := set.Spec.Template.Spec.Containers[0].Image; is != image {
			return fmt.Errorf("image is %q", is)
		}
		return nil
	})
}

func TestCluster_replacesUnitsWhenTheirSecretChanges(t *testing.T) {
	w := newWorld(t)
	c, secret := external(1)
	w.create(secret)
	w.create(c)
	was := w.startUnits(fresh).Spec.Template.Annotations
	secret.Data["uri"] = []byte("postgresql://u:other@db/shop")
	if err := w.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	w.look(1)
	w.eventually(func() error {
		var set appsv1.StatefulSet
		if err := w.get("shop-unit", &set); err != nil {
			return err
		}
		if cmp.Equal(was, set.Spec.Template.Annotations) {
			return fmt.Errorf("annotations are still %v", was)
		}
		return nil
	})
}

func TestCluster_waitsForADatabaseThatCanBeReplicated(t *testing.T) {
	w := newWorld(t)
	l := &lack.Lack{Reason: database.ReasonWALLevelNotLogical, Detail: "wal_level is replica", Remedy: "set it"}
	w.databases.change(func(d *databases) { d.lacks = []*lack.Lack{l} })
	c, secret := external(1)
	w.create(secret)
	w.create(c)
	got := w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "WALLevelNotLogical")
	if m := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionReady).Message; m != "OLTPReady: wal_level is replica; set it" {
		t.Errorf("Ready says %q", m)
	}
	if err := w.get("shop-unit", &appsv1.StatefulSet{}); !apierrors.IsNotFound(err) {
		t.Errorf("units run on a database that cannot be replicated: %v", err)
	}
	w.databases.change(func(d *databases) { d.lacks = nil })
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
}

func TestCluster_leavesNothingInTheDatabaseWhenItGoes(t *testing.T) {
	w := newWorld(t)
	c, _ := w.serving()
	w.databases.change(func(d *databases) { d.inUse = []string{"freshet_x_0"} })
	if err := w.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "StoppingUnits")
	w.databases.change(func(d *databases) {
		for _, keep := range d.cleans {
			if keep == 0 {
				t.Error("slots were dropped while a unit ran")
			}
		}
	})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shop-unit-0", Namespace: w.namespace}}
	if err := w.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "CleaningDatabase")
	w.databases.change(func(d *databases) { d.inUse = nil })
	w.eventually(func() error {
		if err := w.get("shop", c); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the cluster is still there: %v", err)
		}
		return nil
	})
}

func TestCluster_doesNotTouchWhatIsSomebodyElses(t *testing.T) {
	w := newWorld(t)
	c, secret := external(1)
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	w.create(theirs)
	w.create(secret)
	w.create(c)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "TaskFailed")
	var now corev1.Service
	if err := w.get("shop", &now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theirs.ResourceVersion, now.ResourceVersion); diff != "" {
		t.Errorf("the Service was changed (-want +got):\n%s", diff)
	}
}

func TestCluster_runsABuiltinDatabase(t *testing.T) {
	w := newWorld(t)
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{}}
	w.create(c)
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "DatabaseStarting")
	var set appsv1.StatefulSet
	if err := w.get("shop-oltp", &set); err != nil {
		t.Fatal(err)
	}
	w.run("shop-oltp-0", set.Spec.Template, "10.0.1.1") // the namespace refuses pods that are not restricted
	set.Status.Replicas, set.Status.ReadyReplicas = 1, 1
	if err := w.Status().Update(t.Context(), &set); err != nil {
		t.Fatal(err)
	}
	w.startUnits(fresh)
	got := w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	var connection corev1.Secret
	if err := w.get(got.Status.ConnectionSecret, &connection); err != nil {
		t.Fatal(err)
	}
	if len(connection.OwnerReferences) > 0 {
		t.Error("the password of a volume that is kept is deleted with the cluster")
	}
}
