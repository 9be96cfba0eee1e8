package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// provideDatabase runs the database where that is the operator's business, and reads the connection of any.
func (r *Reconciler) provideDatabase(ctx context.Context, s *state) (task.Result, error) {
	external := func(context.Context, *state) error { return nil }
	there := func(context.Context, *state) (task.Result, error) { return task.Done, nil }
	run, await := external, there
	switch s.cluster.Spec.OLTP.Engine {
	case v1alpha1.EnginePostgreSQL:
		run, await = r.runPostgreSQL, r.awaitPostgreSQL
		if manifest.ByCloudNativePG(s.cluster) {
			run, await = r.runCloudNativePG, r.awaitCloudNativePG
		}
	case v1alpha1.EngineCockroachDB:
		run, await = r.runCockroachDB, r.awaitCockroachDB
	}
	if err := run(ctx, s); err != nil {
		return s.withoutDatabase(err)
	}
	found, err := r.readConnection(ctx, s)
	if err != nil || !found {
		return task.Wait(whenNot), err
	}
	result, err := await(ctx, s)
	s.inputs = append(s.inputs, map[string][]byte{"uri": []byte(s.connection.URI), "ca.crt": s.connection.CA})
	return result, err
}

// withoutDatabase waits where something is lacking, and the condition says what it is; any other error is one.
func (s *state) withoutDatabase(err error) (task.Result, error) {
	if l, ok := errors.AsType[*lack.Lack](err); ok {
		s.isNot(v1alpha1.ConditionOLTPReady, l.Reason, "%v", l)
		return task.Wait(whenNot), nil
	}
	return task.Done, err
}

func (r *Reconciler) runPostgreSQL(ctx context.Context, s *state) error {
	if err := r.databaseRoles(ctx, s); err != nil {
		return err
	}
	authority, err := r.issueAuthority(ctx, s)
	if err != nil {
		return err
	}
	server, err := r.issueServer(ctx, s, authority, manifest.OLTPTLSName(s.cluster), manifest.OLTPHosts(s.cluster))
	if err != nil {
		return err
	}
	// A new certificate is loaded while the database runs; one of a new authority would not let the operator in to tell
	// it so.
	s.objects.OLTPInputs, s.connection.Certificate = manifest.Digest(map[string][]byte{"ca.crt": authority.Cert}), server.Cert
	for _, role := range s.roles {
		if err := r.ownWithVolume(ctx, s, s.objects.RoleSecret(role.OLTPRole, role.Credentials, authority.Cert)); err != nil {
			return err
		}
	}
	if err := r.runArchive(ctx, s); err != nil {
		return err
	}
	for _, obj := range []client.Object{s.objects.OLTPCertificate(server.Cert, server.Key), s.objects.OLTPService(), s.objects.OLTPPolicy()} {
		if err := r.own(ctx, s, obj); err != nil {
			return err
		}
	}
	return r.runDatabaseSet(ctx, s, s.objects.PostgreSQL())
}

// runDatabaseSet applies the database's StatefulSet.
func (r *Reconciler) runDatabaseSet(ctx context.Context, s *state, set *appsv1.StatefulSet) (err error) {
	s.oltpVolumes, err = r.runSet(ctx, s, set)
	s.databaseLack = s.oltpVolumes.lack()
	return err
}

// ownWithVolume applies what belongs to the database's volume, as the password that it knows: it is kept with that.
func (r *Reconciler) ownWithVolume(ctx context.Context, s *state, obj client.Object) error {
	if s.cluster.Spec.DeletionPolicy == v1alpha1.Retain {
		return r.applier.Kept(ctx, manifest.ClusterLabel, obj)
	}
	return r.own(ctx, s, obj)
}

// own applies an object that is deleted with the cluster.
func (r *Reconciler) own(ctx context.Context, s *state, obj client.Object) error {
	return r.applier.Controlled(ctx, s.cluster, manifest.ClusterLabel, obj)
}

// awaitPostgreSQL waits until the builtin database's pod accepts connections, and then gives it the roles and passwords
// that it is to have.
func (r *Reconciler) awaitPostgreSQL(ctx context.Context, s *state) (task.Result, error) {
	ready, err := r.databaseReady(ctx, s)
	if err != nil {
		return task.Done, err
	}
	if ready {
		if err := r.provisionRoles(ctx, s); err != nil {
			return s.withoutDatabase(err)
		}
		if err := r.limitSlots(ctx, s); err != nil {
			return task.Done, err
		}
		return task.Done, r.rotatePasswords(ctx, s)
	}
	var pod corev1.Pod
	name := types.NamespacedName{Namespace: s.cluster.Namespace, Name: manifest.OLTPName(s.cluster) + "-0"}
	if err := r.Client.Get(ctx, name, &pod); client.IgnoreNotFound(err) != nil {
		return task.Done, fmt.Errorf("read pod %q: %w", name.Name, err)
	}
	s.isNot(v1alpha1.ConditionOLTPReady, ReasonDatabaseStarting, "pod %s is not ready: %s", name.Name, waitsFor(&pod))
	return task.Wait(whenNot), r.replaceStuck(ctx, s, &pod)
}

// databaseReady says that a pod of the database is ready. While its StatefulSet is replaced, so that volumes can grow,
// only the pods know.
func (r *Reconciler) databaseReady(ctx context.Context, s *state) (bool, error) {
	var set appsv1.StatefulSet
	name := manifest.OLTPName(s.cluster)
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: s.cluster.Namespace, Name: name}, &set)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read StatefulSet %q: %w", name, err)
	}
	if set.Status.ReadyReplicas > 0 {
		return true, nil
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(s.cluster.Namespace), client.MatchingLabels(manifest.OLTPSelector(s.cluster))); err != nil {
		return false, fmt.Errorf("list pods of the database: %w", err)
	}
	return slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return manifest.PodReady(&pod) }), nil
}

// readConnection reads the database's connection Secret; false: it is not as needed, and the status says so.
func (r *Reconciler) readConnection(ctx context.Context, s *state) (bool, error) {
	name := manifest.OLTPName(s.cluster)
	if e := s.cluster.Spec.OLTP.External; e != nil {
		name = e.ConnectionSecretRef.Name
	}
	applications := name
	secret, err := r.readSecret(ctx, s, name)
	if s.cluster.Spec.OLTP.Engine == v1alpha1.EnginePostgreSQL && err == nil { // units have a role of their own, but on old volumes
		var units map[string][]byte
		if units, err = r.readSecret(ctx, s, manifest.OLTPUnitsName(s.cluster)); units != nil {
			name, secret = manifest.OLTPUnitsName(s.cluster), units
		}
	}
	switch {
	case err != nil:
		return false, err
	case secret == nil:
		s.isNot(v1alpha1.ConditionOLTPReady, ReasonSecretNotFound, "Secret %q does not exist; create it with the connection string in key uri", name)
		return false, nil
	case len(secret["uri"]) == 0:
		s.isNot(v1alpha1.ConditionOLTPReady, ReasonSecretIncomplete, "Secret %q has no key uri; write the connection string there", name)
		return false, nil
	}
	s.connection.URI, s.connection.CA = string(secret["uri"]), secret["ca.crt"]
	s.workerURL = cmp.Or(string(secret[manifest.WorkerKey]), s.connection.URI)
	s.objects.ConnectionSecret, s.objects.HasCA = name, len(s.connection.CA) > 0
	s.status.ConnectionSecret = applications
	return true, nil
}

// inspectDatabase sees whether the database can be replicated. Units that run already go on where it cannot be asked
// for a while.
func (r *Reconciler) inspectDatabase(ctx context.Context, s *state) (task.Result, error) {
	if s.cluster.Spec.OLTP.CockroachDB != nil {
		return r.prepareCockroachDB(ctx, s)
	}
	lacks, err := r.Databases.Inspect(ctx, s.connection, manifest.SlotPrefix(s.cluster), int(s.cluster.Spec.Columnar.Units))
	if err != nil {
		return task.Done, err
	}
	s.refused = slices.ContainsFunc(lacks, database.Refuses)
	if s.databaseLack != nil {
		lacks = append([]*lack.Lack{s.databaseLack}, lacks...)
	}
	if s.backupLack != nil {
		lacks = append(lacks, s.backupLack)
	}
	if len(lacks) == 0 {
		s.isReplicable("")
		return task.Done, nil
	}
	var messages []string
	for _, l := range lacks {
		messages = append(messages, l.Error())
	}
	s.isNot(v1alpha1.ConditionOLTPReady, lacks[0].Reason, "%s", strings.Join(messages, ". "))
	if len(s.status.Units) > 0 {
		return task.Done, nil
	}
	return task.Wait(whenNot), nil
}

// isReplicable says that the database is ready, unless something is lacking there, and what is going on, if anything
// is.
func (s *state) isReplicable(format string, args ...any) {
	if l := s.databaseLack; l != nil {
		s.isNot(v1alpha1.ConditionOLTPReady, l.Reason, "%v", l)
		return
	}
	parts := []string{"the database can be replicated"}
	if format != "" {
		parts = append(parts, fmt.Sprintf(format, args...))
	}
	if grow := s.oltpVolumes.progress(); grow != "" {
		parts = append(parts, grow)
	}
	reason := ReasonReplicable
	if len(parts) > 1 {
		reason = ReasonResizing
	}
	s.is(v1alpha1.ConditionOLTPReady, reason, "%s", strings.Join(parts, "; "))
}
