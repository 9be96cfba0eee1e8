//go:build e2e

package pods

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/e2e/trial"
	"github.com/freshet-io/freshet/local/platform"
)

// load starts a cluster of two units, fills its database, and waits until all of it is on both.
func (w *world) load() *trial.Platform {
	w.t.Helper()
	c := builtin(2)
	c.Spec.OLTP.PostgreSQL.Resources = resources("600m", "512Mi") // there is room: one unit fewer than elsewhere
	w.start(c)
	p := w.trial(w.url(), w.direct())
	p.Load(w.t)
	for n := range 2 {
		w.answers(p, n)
	}
	return p
}

// trial is a cluster of up to two units as the trials of the local platform see one.
func (w *world) trial(url, direct string) *trial.Platform {
	return &trial.Platform{
		Recovery: patience, Others: []string{w.unitHost(1) + ":8080"},
		Platform: platform.Platform{URL: url, DirectURL: direct, Monitor: w.unitHost(0) + ":8080"},
	}
}

// answers waits until a unit has all tables, and all that is committed, and returns the trial with this unit alone.
func (w *world) answers(p *trial.Platform, n int) *trial.Platform {
	w.t.Helper()
	unit := *p
	unit.URL = strings.Replace(p.URL, "shop."+w.namespace+".svc", w.unitHost(n), 1)
	p.Eventually(w.t, "an answer of "+w.unitHost(n), unit.ColumnarAnswer)
	return &unit
}

// unitHost is a unit's own name, fresh or not.
func (w *world) unitHost(n int) string {
	return fmt.Sprintf("shop-unit-%d.shop-unit.%s.svc", n, w.namespace)
}

func TestCluster_staysConsistentWhileItsPodsAreKilled(t *testing.T) {
	w := newWorld(t)
	p := w.load()
	stop := p.StartLoad(t, 1)
	for _, victim := range []struct {
		pod       string
		processes []string
	}{
		{"shop-unit-0", []string{"freshet", "freshet-engine"}},
		{"shop-oltp-0", []string{"postgres"}},
		{"shop-unit-1", []string{"freshet-engine"}},
		{"shop-unit-0", []string{"freshet"}},
	} {
		w.kill(w.pod(victim.pod), victim.processes...)
		w.killOperator()
		w.awaitReady(2)
	}
	stop(20)
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
	p := w.load()
	stop := p.StartLoad(t, 2)
	unit := w.pod("shop-unit-1")
	node := unit.Spec.NodeName
	if err := Command(t.Context(), "kubectl", "drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=4m",
		"--pod-selector="+RunnerLabel+"!=true"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Command(context.Background(), "kubectl", "uncordon", node); err != nil {
			t.Error(err)
		}
	})
	w.awaitReady(2)
	if moved := w.pod(unit.Name); moved.Spec.NodeName == node {
		t.Errorf("%s is on %s, which is drained", unit.Name, node)
	}
	stop(20)
	p.RequireEqualTables(t)
}

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	pod, err := w.find(w.namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return pod
}

func (w *world) find(namespace, name string) (*corev1.Pod, error) {
	var pod corev1.Pod
	return &pod, w.Get(context.WithoutCancel(w.t.Context()), client.ObjectKey{Namespace: namespace, Name: name}, &pod)
}

// killOperator ends the operator at once, and waits until another is in its place.
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
