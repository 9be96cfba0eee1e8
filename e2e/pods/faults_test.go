//go:build e2e

package pods

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/e2e/trial"
	"github.com/freshet-io/freshet/local/platform"
)

// trial is the cluster as the trials of the local platform see one.
func (w *world) trial() *trial.Platform {
	return &trial.Platform{Recovery: patience, Platform: platform.Platform{
		URL: w.url(), DirectURL: w.direct(), Monitor: fmt.Sprintf("shop-unit-0.shop-unit.%s.svc:8080", w.namespace),
	}}
}

func TestCluster_staysConsistentWhileItsPodsAreKilled(t *testing.T) {
	w := newWorld(t)
	w.start(builtin(2))
	p := w.trial()
	p.Load(t)
	stop := p.StartLoad(t, 1)
	for _, pod := range []string{"shop-unit-0", "shop-oltp-0", "shop-unit-1"} {
		w.kill(pod, w.namespace)
		w.awaitReady(2)
	}
	w.killOperator()
	w.kill("shop-unit-0", w.namespace)
	w.awaitReady(2)
	findings := stop()
	findings.Require(t, 20)
	p.RequireEqualTables(t)
}

func TestCluster_movesFromADrainedNode(t *testing.T) {
	w := newWorld(t)
	var nodes corev1.NodeList
	if err := w.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	if len(nodes.Items) < 2 {
		t.Fatalf("the cluster has %d node, and draining takes two", len(nodes.Items))
	}
	w.start(builtin(2))
	p := w.trial()
	p.Load(t)
	stop := p.StartLoad(t, 2)
	unit := w.pod("shop-unit-1")
	node := unit.Spec.NodeName
	if err := command(t.Context(), "kubectl", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=4m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := command(context.Background(), "kubectl", "uncordon", node); err != nil {
			t.Error(err)
		}
	})
	w.awaitReady(2)
	if moved := w.pod(unit.Name); moved.Spec.NodeName == node {
		t.Errorf("%s is on %s, which is drained", unit.Name, node)
	}
	findings := stop()
	findings.Require(t, 20)
	p.RequireEqualTables(t)
}

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	var pod corev1.Pod
	if err := w.get(name, &pod); err != nil {
		w.t.Fatal(err)
	}
	return &pod
}

// kill ends a pod's processes at once, and waits until another is in its place.
func (w *world) kill(name, namespace string) {
	w.t.Helper()
	var pod corev1.Pod
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if err := w.Get(w.t.Context(), key, &pod); err != nil {
		w.t.Fatal(err)
	}
	killed := pod.UID
	if err := w.Delete(w.t.Context(), &pod, client.GracePeriodSeconds(0), client.Preconditions{UID: &killed}); err != nil {
		w.t.Fatal(err)
	}
	w.eventually("another pod "+name, func(ctx context.Context) error {
		if err := w.Get(ctx, key, &pod); err != nil {
			return err
		}
		if pod.UID == killed {
			return fmt.Errorf("it is still the one that was killed")
		}
		return nil
	})
}

// killOperator does so with the operator, and waits until it is back.
func (w *world) killOperator() {
	w.t.Helper()
	err := w.DeleteAllOf(w.t.Context(), &corev1.Pod{}, client.InNamespace(operatorNamespace),
		client.MatchingLabels{"app.kubernetes.io/name": operatorName}, client.GracePeriodSeconds(0))
	if err != nil {
		w.t.Fatal(err)
	}
	w.eventually("the operator's return", func(ctx context.Context) error {
		d, err := w.operator(ctx)
		if err == nil && d.Status.ReadyReplicas != ptr.Deref(d.Spec.Replicas, 1) {
			err = fmt.Errorf("%d replicas are ready", d.Status.ReadyReplicas)
		}
		return err
	})
}
