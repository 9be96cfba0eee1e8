package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/cockroach"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/pki"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// runCockroachDB applies what a CockroachDB consists of, its certificates first.
func (r *Reconciler) runCockroachDB(ctx context.Context, s *state) error {
	var err error
	if s.password, err = r.passwordIn(ctx, s, manifest.OLTPName(s.cluster)); err != nil {
		return err
	}
	if err := r.certifyCockroachDB(ctx, s); err != nil {
		return err
	}
	if err := r.sizeCockroachDB(ctx, s); err != nil {
		return err
	}
	if err := r.ownWithVolume(ctx, s, s.objects.CockroachConnection(s.password, s.root.CA)); err != nil {
		return err
	}
	for _, obj := range []client.Object{
		s.objects.CockroachService(), s.objects.NodesService(), s.objects.CockroachPolicy(), s.objects.CockroachDisruption(),
	} {
		if err := r.own(ctx, s, obj); err != nil {
			return err
		}
	}
	return r.runDatabaseSet(ctx, s, s.objects.CockroachDB())
}

// certifyCockroachDB issues and renews the certificates of nodes and of root. A new one of the nodes' replaces them one
// by one.
func (r *Reconciler) certifyCockroachDB(ctx context.Context, s *state) error {
	authority, err := r.authority(ctx, s, manifest.CockroachCAName(s.cluster), "CockroachDB of ")
	if err != nil {
		return err
	}
	nodes, err := r.readCertificate(ctx, s, manifest.NodesName(s.cluster), "node.crt", "node.key")
	if err != nil {
		return err
	}
	root, err := r.readRoot(ctx, s)
	if err != nil {
		return err
	}
	now, hosts := r.Clock(), manifest.CockroachHosts(s.cluster)
	if nodes.Due(now, authority, hosts...) {
		if nodes, err = authority.Node(now, "node", hosts...); err != nil { // CockroachDB knows its like by this name
			return err
		}
	}
	if root.Due(now, authority) {
		if root, err = authority.Client(now, "root"); err != nil {
			return err
		}
	}
	for _, secret := range []*corev1.Secret{
		s.objects.CockroachAuthority(authority.Cert, authority.Key), s.objects.CockroachNodes(authority.Cert, nodes.Cert, nodes.Key),
		s.objects.CockroachRoot(authority.Cert, root.Cert, root.Key),
	} {
		if err := r.own(ctx, s, secret); err != nil {
			return err
		}
	}
	s.objects.OLTPInputs = manifest.Digest(map[string][]byte{"ca": authority.Cert, "cert": nodes.Cert})
	s.root = reachCockroachDB(s, authority.Cert, root)
	return nil
}

func (r *Reconciler) readRoot(ctx context.Context, s *state) (pki.Certificate, error) {
	return r.readCertificate(ctx, s, manifest.CockroachRootName(s.cluster), "client.root.crt", "client.root.key")
}

func reachCockroachDB(s *state, authority []byte, root pki.Certificate) cockroach.Root {
	return cockroach.Root{Host: manifest.CockroachHosts(s.cluster)[0], Port: manifest.CockroachPort, CA: authority, Cert: root.Cert, Key: root.Key}
}

// awaitCockroachDB waits until a node is ready, which none is before they have been made one cluster.
func (r *Reconciler) awaitCockroachDB(ctx context.Context, s *state) (task.Result, error) {
	if ready, err := r.databaseReady(ctx, s); ready || err != nil {
		return task.Done, err
	}
	// A Job cannot be changed, and once there it has done its work, or will.
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: s.cluster.Namespace, Name: s.objects.CockroachInitName()}, &batchv1.Job{})
	if apierrors.IsNotFound(err) {
		err = r.own(ctx, s, s.objects.CockroachInit())
	}
	if err != nil {
		return task.Done, fmt.Errorf("initialize CockroachDB: %w", err)
	}
	s.isNot(v1alpha1.ConditionOLTPReady, ReasonDatabaseStarting, "none of %d nodes is ready; if that stays, see the logs of pods %s-* and of Job %s",
		s.cluster.Spec.OLTP.CockroachDB.Replicas, manifest.OLTPName(s.cluster), s.objects.CockroachInitName())
	return task.Wait(whenNot), nil
}

// prepareCockroachDB makes the database that is replicated, and then gives it the nodes that it is to have. Units that
// run already go on where CockroachDB does not answer for a while.
func (r *Reconciler) prepareCockroachDB(ctx context.Context, s *state) (task.Result, error) {
	spec := s.cluster.Spec.OLTP.CockroachDB
	target := cockroach.Target{
		Database: spec.Database, Role: manifest.CockroachRole, Password: s.password, Hold: spec.Finalization == v1alpha1.FinalizationManual,
	}
	err := r.Cockroaches.Prepare(ctx, s.root, target)
	if err == nil {
		return task.Done, r.resizeCockroachDB(ctx, s)
	}
	s.refused = true
	s.isNot(v1alpha1.ConditionOLTPReady, database.ReasonUnreachable, "%s; see the logs of pods %s-*", refusal(s, err), manifest.OLTPName(s.cluster))
	if len(s.status.Units) > 0 {
		return task.Done, nil
	}
	return task.Wait(whenNot), nil
}

// endChangefeeds cancels all changefeeds, before their topics are deleted. false: it could not, and the status says so.
func (r *Reconciler) endChangefeeds(ctx context.Context, s *state) (bool, error) {
	if s.cluster.Annotations[AbandonAnnotation] == "true" {
		return true, nil
	}
	authority, err := r.readCertificate(ctx, s, manifest.CockroachCAName(s.cluster), "ca.crt", "ca.key")
	if err != nil {
		return false, err
	}
	root, err := r.readRoot(ctx, s)
	if err != nil {
		return false, err
	}
	if len(root.Cert) == 0 {
		return true, nil // no node has ever been started
	}
	s.root = reachCockroachDB(s, authority.Cert, root)
	if err := r.Cockroaches.EndChangefeeds(ctx, s.root, manifest.SlotPrefix(s.cluster), 0); err != nil {
		s.isNot(v1alpha1.ConditionReady, ReasonCleaningPipeline,
			"changefeeds %s* must be canceled: %s. If the database will not come back, annotate the HTAPCluster with %s=true",
			manifest.SlotPrefix(s.cluster), refusal(s, err), AbandonAnnotation)
		return false, nil
	}
	return true, nil
}

// refusal is what CockroachDB said, or that it said nothing, in words that do not change from one attempt to the next.
func refusal(s *state, err error) string {
	if said, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fmt.Sprintf("CockroachDB refuses: %s (%s)", said.Message, said.Code)
	}
	return fmt.Sprintf("CockroachDB at %s:%d does not answer as it should", s.root.Host, s.root.Port)
}
