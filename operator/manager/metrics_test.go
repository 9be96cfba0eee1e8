//go:build kubernetes

package manager

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/freshet-io/freshet/operator/internal/cluster"
)

// gather returns the samples of a collector, by the values of their labels in the order of the labels' names.
func gather(c prometheus.Collector) (map[string]float64, error) {
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(c); err != nil {
		return nil, err
	}
	families, err := registry.Gather()
	if err != nil {
		return nil, err
	}
	samples := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			key := family.GetName()
			for _, label := range m.GetLabel() {
				key += " " + label.GetValue()
			}
			samples[key] = m.GetGauge().GetValue()
		}
	}
	return samples, nil
}

func TestMetrics_tellConditionsUntilTheClusterIsDeleted(t *testing.T) {
	w := newIdleWorld(t, apiServer)
	o := w.start(w.writes.wrap, func(*ctrl.Options) {})
	conditions := cluster.NewConditions(o.manager.GetCache(), o.elected)
	c, secret := external(1)
	w.create(c)
	want := map[string]float64{}
	for condition, is := range map[string]string{
		"OLTPReady": "false", "Ready": "false", "PipelineReady": "unknown", "IsolationApplied": "unknown", "ReplicasFresh": "unknown", "SnapshotConsistent": "unknown",
	} {
		for _, status := range []string{"true", "false", "unknown"} {
			value := 0.0
			if status == is {
				value = 1
			}
			want[fmt.Sprintf("freshet_cluster_condition %s shop %s %s", condition, w.namespace, status)] = value
		}
	}
	tells := func(want map[string]float64) func() error {
		return func() error {
			got, err := gather(conditions)
			if err != nil {
				return err
			}
			if diff := cmp.Diff(want, got); diff != "" {
				return fmt.Errorf("metrics (-want +got):\n%s", diff)
			}
			return nil
		}
	}
	w.eventually(tells(want)) // the Secret is not there yet
	w.create(secret)          // by which the database is cleaned
	if err := w.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.eventually(tells(map[string]float64{}))
}

func TestMetrics_areToldByTheLeaderOnly(t *testing.T) {
	w := newIdleWorld(t, apiServer)
	o := w.start(w.writes.wrap, func(*ctrl.Options) {})
	c, _ := external(1)
	w.create(c)
	leader, other := cluster.NewConditions(o.manager.GetCache(), o.elected), cluster.NewConditions(o.manager.GetCache(), make(chan struct{}))
	w.eventually(func() error {
		if got, err := gather(leader); err != nil || len(got) == 0 {
			return fmt.Errorf("the leader tells %v, %w", got, err)
		}
		return nil
	})
	if got, err := gather(other); err != nil || len(got) > 0 {
		t.Errorf("an operator that does not lead tells %v, %v", got, err)
	}
}
