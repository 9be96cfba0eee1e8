package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/apply"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// runCloudNativePG has CloudNativePG run the database. It makes an authority of its own, which is part of the connection from then on. What it
// refuses leaves the Cluster as it is.
func (r *Reconciler) runCloudNativePG(ctx context.Context, s *state) error {
	cluster := s.objects.CloudNativePGCluster()
	l, err := r.findKind(cluster, lacking{
		reason: ReasonCloudNativePGNotInstalled, remedy: "install CloudNativePG's operator, 1.27 or later, or create an HTAPCluster with oltp.postgresql.provider builtin",
	})
	if err != nil {
		return err
	}
	if l != nil {
		return l
	}
	if err := r.databaseRoles(ctx, s); err != nil {
		return err
	}
	authority, err := r.cloudNativePGAuthority(ctx, s)
	if err != nil {
		return err
	}
	if err := r.ownWithVolume(ctx, s, s.objects.RoleSecret(s.roles[0].OLTPRole, s.roles[0].Credentials, authority)); err != nil {
		return err
	}
	if err := r.own(ctx, s, s.objects.CloudNativePGPolicy()); err != nil {
		return err
	}
	err = r.ownWithVolume(ctx, s, cluster)
	if refusal := apierrors.APIStatus(nil); apierrors.IsInvalid(err) && errors.As(err, &refusal) {
		s.databaseLack = &lack.Lack{
			Reason: ReasonCloudNativePGRefuses, Detail: "CloudNativePG refuses the Cluster: " + refusal.Status().Message, Remedy: "correct oltp.postgresql",
		}
		return nil
	}
	return err
}

// cloudNativePGAuthority reads the authority's certificate, or, while that is not there, the one that is part of the connection: units need it.
func (r *Reconciler) cloudNativePGAuthority(ctx context.Context, s *state) ([]byte, error) {
	for _, from := range []manifest.SecretKey{manifest.CloudNativePGAuthority(s.cluster), {Secret: manifest.OLTPName(s.cluster), Key: caKey}} {
		secret, err := r.readSecret(ctx, s, from.Secret)
		if err != nil {
			return nil, err
		}
		if authority := secret[from.Key]; len(authority) > 0 {
			return authority, nil
		}
	}
	return nil, nil
}

// awaitCloudNativePG waits until the servers are ready, and then gives the role the password that it is to have. Units that run already go on
// while CloudNativePG is at work: most of what it does leaves a primary in service.
func (r *Reconciler) awaitCloudNativePG(ctx context.Context, s *state) (task.Result, error) {
	live, err := r.liveCloudNativePG(ctx, s)
	if err != nil {
		return task.Done, err
	}
	if s.databaseLack == nil {
		s.databaseLack = cloudNativePGLack(live, s)
	}
	switch {
	case s.databaseLack == nil:
		return task.Done, r.rotatePasswords(ctx, s)
	case len(s.status.Units) > 0 && len(s.connection.CA) > 0:
		return task.Done, nil
	}
	s.isNot(v1alpha1.ConditionOLTPReady, s.databaseLack.Reason, "%v", s.databaseLack)
	return task.Wait(whenNot), nil
}

// liveCloudNativePG reads the Cluster; one that is not there, or whose kind is not, is empty.
func (r *Reconciler) liveCloudNativePG(ctx context.Context, s *state) (*unstructured.Unstructured, error) {
	wanted, live := s.objects.CloudNativePGCluster(), &unstructured.Unstructured{}
	live.SetGroupVersionKind(wanted.GroupVersionKind())
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(wanted), live)
	if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("read Cluster %q: %w", wanted.GetName(), err)
	}
	return live, nil
}

// cloudNativePGLack says what CloudNativePG says of a Cluster that is not ready; nil: it is.
func cloudNativePGLack(live *unstructured.Unstructured, s *state) *lack.Lack {
	text := func(fields ...string) string { t, _, _ := unstructured.NestedString(live.Object, fields...); return t }
	ready, _, _ := unstructured.NestedInt64(live.Object, "status", "readyInstances")
	wanted, _, _ := unstructured.NestedInt64(live.Object, "spec", "instances")
	refused, _, _ := unstructured.NestedStringSlice(live.Object, "status", "managedRolesStatus", "cannotReconcile", manifest.CloudNativePGRole)
	why := "CloudNativePG has not looked at it yet"
	switch phase := text("status", "phase"); {
	case len(refused) > 0:
		why = fmt.Sprintf("role %s: %s", manifest.CloudNativePGRole, strings.Join(refused, ", "))
	case len(s.connection.CA) > 0 && readyCondition(live).Status == metav1.ConditionTrue:
		return nil
	case phase != "":
		why = phase
		if reason := text("status", "phaseReason"); reason != "" {
			why += ": " + reason
		}
		why += fmt.Sprintf(" (%d of %d instances are ready)", ready, wanted)
	}
	name := manifest.OLTPName(s.cluster)
	return &lack.Lack{
		Reason: ReasonCloudNativePGNotReady, Detail: fmt.Sprintf("Cluster %q is not ready: %s", name, why),
		Remedy: fmt.Sprintf("see kubectl describe clusters.postgresql.cnpg.io %s, its pods, and the log of CloudNativePG's operator", name),
	}
}

// retainDatabase ends the servers of a Cluster that is kept, as those of the builtin database end with it.
func (r *Reconciler) retainDatabase(ctx context.Context, s *state) (task.Result, error) {
	if !manifest.ByCloudNativePG(s.cluster) || s.cluster.Spec.DeletionPolicy != v1alpha1.Retain {
		return task.Done, nil
	}
	live, err := r.liveCloudNativePG(ctx, s)
	if err != nil {
		return task.Done, err
	}
	if live.GetLabels()[manifest.ClusterLabel] != s.cluster.Name {
		return task.Done, nil // it was never made, or is somebody else's
	}
	before, annotations := live.DeepCopy(), live.GetAnnotations()
	annotations[manifest.HibernationAnnotation] = manifest.Hibernated
	live.SetAnnotations(annotations)
	if err := r.Client.Patch(ctx, live, client.MergeFrom(before), apply.Owner); client.IgnoreNotFound(err) != nil {
		return task.Done, fmt.Errorf("hibernate Cluster %q: %w", live.GetName(), err)
	}
	return task.Done, nil
}
