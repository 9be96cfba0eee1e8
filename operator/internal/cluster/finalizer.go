package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/apply"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// Finalizer keeps an HTAPCluster until its connectors, topics, slots and publications are gone.
const Finalizer = "freshet.io/database-cleanup"

// AbandonAnnotation leaves slots and publications where they are, if it is "true" on an HTAPCluster that is being deleted: for a
// database that will not come back.
const AbandonAnnotation = "freshet.io/abandon-database"

// AbandonPipelineAnnotation leaves connectors and topics where they are, likewise: for a Kafka that will not come back.
const AbandonPipelineAnnotation = "freshet.io/abandon-pipeline"

func (r *Reconciler) holdFinalizer(ctx context.Context, s *state) (task.Result, error) {
	return task.Done, r.changeFinalizer(ctx, s, controllerutil.AddFinalizer)
}

func (r *Reconciler) releaseFinalizer(ctx context.Context, s *state) (task.Result, error) {
	return task.Done, r.changeFinalizer(ctx, s, controllerutil.RemoveFinalizer)
}

func (r *Reconciler) changeFinalizer(ctx context.Context, s *state, change func(client.Object, string) bool) error {
	before := s.cluster.DeepCopy()
	if !change(s.cluster, Finalizer) {
		return nil
	}
	// The list of finalizers is written as a whole: it must be the one that was read.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Patch(ctx, s.cluster, patch, apply.Owner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write finalizers: %w", err)
	}
	return nil
}

// tellEndpoint writes the endpoint down before the first unit runs. By that it is known whether units have left anything: see [state.hadUnits].
func (r *Reconciler) tellEndpoint(ctx context.Context, s *state) error {
	s.status.Endpoint = manifest.Endpoint(s.cluster)
	if s.cluster.Status.Endpoint == s.status.Endpoint {
		return nil
	}
	after := s.cluster.DeepCopy()
	after.Status.Endpoint = s.status.Endpoint
	if err := r.Client.Status().Patch(ctx, after, client.MergeFrom(s.cluster), apply.Owner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write endpoint: %w", err)
	}
	return nil
}

// hadUnits says that there may have been a unit, which makes slot, publication, connector and topics of its own.
func (s *state) hadUnits() bool { return s.status.Endpoint != "" }

// cleanDatabase drops the slots and publications of all units.
func (r *Reconciler) cleanDatabase(ctx context.Context, s *state) (task.Result, error) {
	if s.cluster.Spec.OLTP.CockroachDB != nil {
		return task.Done, nil // its changefeeds are part of the pipeline
	}
	builtin := s.cluster.Spec.OLTP.Engine == v1alpha1.EnginePostgreSQL
	if !s.hadUnits() || !controllerutil.ContainsFinalizer(s.cluster, Finalizer) || s.cluster.Annotations[AbandonAnnotation] == "true" ||
		builtin && s.cluster.Spec.DeletionPolicy == v1alpha1.Delete { // they go with the volume
		return task.Done, nil
	}
	if manifest.ByCloudNativePG(s.cluster) {
		live, err := r.liveCloudNativePG(ctx, s)
		if err != nil {
			return task.Done, err
		}
		if live.GetUID() == "" {
			return task.Done, nil // it was never made, or is gone
		}
	}
	wait := func(what string) (task.Result, error) {
		s.isNot(v1alpha1.ConditionReady, ReasonCleaningDatabase,
			"slots and publications %s* must be dropped: %s. If the database will not come back, annotate the HTAPCluster with %s=true",
			manifest.SlotPrefix(s.cluster), what, AbandonAnnotation)
		return task.Wait(whenNot), nil
	}
	found, err := r.readConnection(ctx, s)
	if err != nil {
		return task.Done, err
	}
	if !found && builtin {
		return task.Done, nil // its namespace is being deleted, volume included; else nobody has the password that the volume knows
	}
	if !found {
		return wait("the connection Secret is not there")
	}
	inUse, err := r.Databases.Clean(ctx, s.connection, manifest.SlotPrefix(s.cluster), 0)
	var l *lack.Lack
	switch {
	case errors.As(err, &l):
		return wait(l.Error())
	case err != nil:
		return task.Done, err
	case len(inUse) > 0:
		return wait(strings.Join(inUse, ", ") + " is in use")
	}
	return task.Done, nil
}
