package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// runConnectors has Strimzi run the units' connectors: each while the database has its unit's slot and publication.
func (r *Reconciler) runConnectors(ctx context.Context, s *state) (task.Result, error) {
	if !connectsByStrimzi(s) {
		return task.Done, nil
	}
	ready, err := r.Databases.Slots(ctx, s.connection, manifest.SlotPrefix(s.cluster))
	if _, ok := errors.AsType[*lack.Lack](err); ok {
		return task.Done, nil // OLTPReady tells of it; connectors go on as they do
	}
	if err != nil {
		return task.Done, err
	}
	for number := range s.cluster.Spec.Columnar.Units {
		running := slices.Contains(ready, int(number))
		o, err := s.objects.StrimziConnector(number, s.workerURL, running)
		if err != nil {
			return task.Done, err
		}
		if err := r.own(ctx, s, o); err != nil {
			return task.Done, err
		}
		if !running {
			continue
		}
		l, err := r.judgeStrimzi(ctx, o)
		if err != nil {
			return task.Done, err
		}
		if l != nil {
			s.connectorLacks = append(s.connectorLacks, l)
		}
	}
	return task.Done, nil
}

func connectsByStrimzi(s *state) bool {
	k := s.cluster.Spec.CDC.Kafka
	return k != nil && k.Strimzi != nil && k.Strimzi.Connect != nil
}

// endConnectors deletes the connectors of units of number keep and higher: Strimzi then ends them in Kafka Connect.
func (r *Reconciler) endConnectors(ctx context.Context, s *state, keep int) error {
	if !connectsByStrimzi(s) {
		return nil
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(manifest.StrimziConnectorKind)
	if err := r.Client.List(ctx, list, client.InNamespace(s.cluster.Namespace), client.MatchingLabels{manifest.ClusterLabel: s.cluster.Name}); err != nil {
		return fmt.Errorf("list connectors: %w", err)
	}
	for i := range list.Items {
		o := &list.Items[i]
		number, ok := manifest.UnitNumber(s.cluster, o.GetName())
		if !ok || number < keep || !o.GetDeletionTimestamp().IsZero() {
			continue
		}
		if err := r.Client.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete KafkaConnector %q: %w", o.GetName(), err)
		}
	}
	return nil
}
