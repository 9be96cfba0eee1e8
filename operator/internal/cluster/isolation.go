package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// observeIsolation says whether database and units run as the isolation mode has it. Pods that run are not moved when a mode is asked
// for, but replaced, so that there is a while between.
func (r *Reconciler) observeIsolation(ctx context.Context, s *state) (task.Result, error) {
	if s.cluster.Spec.Isolation.Mode != v1alpha1.IsolationDedicated {
		s.is(v1alpha1.ConditionIsolationApplied, ReasonShared, "a node may run both the database and units, each pod with its own CPU and memory")
		return task.Done, nil
	}
	both, err := r.sharedNodes(ctx, s)
	if err != nil {
		return task.Done, err
	}
	if len(both) > 0 {
		s.isNot(v1alpha1.ConditionIsolationApplied, ReasonNodesShared,
			"%s; units are replaced one by one and leave, for which there must be nodes that the database does not use", strings.Join(both, ", "))
		return task.Done, nil
	}
	s.is(v1alpha1.ConditionIsolationApplied, ReasonDedicated, "no node runs both the database and a unit")
	return task.Done, nil
}

// sharedNodes tells of each node that runs both the database and units.
func (r *Reconciler) sharedNodes(ctx context.Context, s *state) ([]string, error) {
	var reader client.Reader = r.Client
	if manifest.ByCloudNativePG(s.cluster) {
		reader = r.Reader // its pods have not the label by which pods are watched
	}
	var servers corev1.PodList
	if err := reader.List(ctx, &servers, client.InNamespace(s.cluster.Namespace), client.MatchingLabels(manifest.DatabaseSelector(s.cluster))); err != nil {
		return nil, fmt.Errorf("list pods of the database: %w", err)
	}
	units, err := r.unitPods(ctx, s)
	if err != nil {
		return nil, err
	}
	server := map[string]string{}
	for _, p := range servers.Items {
		server[p.Spec.NodeName] = p.Name
	}
	delete(server, "") // of pods that have no node yet
	var both []string
	for _, name := range slices.Sorted(maps.Keys(units)) {
		node := units[name].Spec.NodeName
		if of, ok := server[node]; ok {
			both = append(both, fmt.Sprintf("node %s runs %s and %s", node, of, name))
		}
	}
	return both, nil
}
