//go:build kubernetes

package manager

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// bind plays the scheduler: it gives a pod its node.
func (w *world) bind(name, node string) {
	w.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}}
	binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
	if err := w.SubResource("binding").Create(w.t.Context(), pod, binding); err != nil {
		w.t.Fatalf("bind pod %q to node %q: %v", name, node, err)
	}
}

// isolate changes the isolation mode.
func (w *world) isolate(mode v1alpha1.IsolationMode) {
	w.t.Helper()
	w.eventually(func() error {
		var c v1alpha1.HTAPCluster
		if err := w.get("shop", &c); err != nil {
			return err
		}
		c.Spec.Isolation.Mode = mode
		return w.Update(w.t.Context(), &c)
	})
}

func TestCluster_keepsUnitsOffTheNodesOfItsDatabase(t *testing.T) {
	w := newWorld(t)
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{}}
	w.create(c)
	w.startDatabase()
	w.bind("shop-oltp-0", "node-a")
	if affinity := w.startUnits(fresh).Spec.Template.Spec.Affinity; affinity != nil {
		t.Errorf("units that may share nodes have affinity %v", affinity)
	}
	w.bind("shop-unit-0", "node-a")
	w.awaitCondition(v1alpha1.ConditionIsolationApplied, metav1.ConditionTrue, "Shared")
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")

	w.isolate(v1alpha1.IsolationDedicated)
	const want = "IsolationApplied: node node-a runs shop-oltp-0 and shop-unit-0; units are replaced one by one and leave, " +
		"for which there must be nodes that the database does not use"
	shared := w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "NodesShared")
	if is := meta.FindStatusCondition(shared.Status.Conditions, v1alpha1.ConditionReady).Message; is != want {
		t.Errorf("Ready says %q, want %q", is, want)
	}

	// The controller of StatefulSets and the scheduler replace the unit.
	if err := w.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "shop-unit-0", Namespace: w.namespace}}, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	var set appsv1.StatefulSet
	if err := w.get("shop-unit", &set); err != nil {
		t.Fatal(err)
	}
	if pod := w.run("shop-unit-0", set.Spec.Template, "10.0.0.1"); pod.Spec.Affinity == nil {
		t.Error("a unit that must not share its node has no affinity")
	}
	w.bind("shop-unit-0", "node-b")
	w.awaitCondition(v1alpha1.ConditionIsolationApplied, metav1.ConditionTrue, "Dedicated")
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
}

// tellsNodesSharedWithCloudNativePG requires that CloudNativePG's pods, which have labels of its own only, are found.
func (w *world) tellsNodesSharedWithCloudNativePG(units *appsv1.StatefulSet) {
	w.t.Helper()
	template := units.Spec.Template.DeepCopy() // any that the namespace admits
	template.Labels = map[string]string{"cnpg.io/cluster": "shop-oltp"}
	server := w.run("shop-oltp-1", *template, "10.0.1.1")
	w.bind("shop-oltp-1", "node-a")
	w.bind("shop-unit-0", "node-a")
	w.isolate(v1alpha1.IsolationDedicated)
	w.awaitCondition(v1alpha1.ConditionIsolationApplied, metav1.ConditionFalse, "NodesShared")
	if err := w.Delete(w.t.Context(), server, client.GracePeriodSeconds(0)); err != nil {
		w.t.Fatal(err)
	}
	w.look(1)
	w.awaitCondition(v1alpha1.ConditionIsolationApplied, metav1.ConditionTrue, "Dedicated")
	w.isolate(v1alpha1.IsolationShared)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
}
