package cluster

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// issueByCertManager has cert-manager issue the endpoint's certificate, and takes it. Units that run already go on with the one that there is.
func (r *Reconciler) issueByCertManager(ctx context.Context, s *state) (task.Result, error) {
	var err error
	if s.certificateLack, err = r.runCertManager(ctx, s); err != nil {
		return task.Done, err
	}
	name := manifest.IssuedName(s.cluster)
	secret, err := r.readSecret(ctx, s, name)
	if err != nil {
		return task.Done, err
	}
	if s.certificateLack != nil && (secret == nil || len(s.status.Units) == 0) {
		s.isNot(v1alpha1.ConditionPipelineReady, s.certificateLack.Reason, "%v", s.certificateLack)
		return task.Wait(whenNot), nil
	}
	return r.takeCertificate(ctx, s, name, "cert-manager makes it: see kubectl describe certificate "+name)
}

// runCertManager applies the Certificate, and says why it is not ready; nil: it is.
func (r *Reconciler) runCertManager(ctx context.Context, s *state) (*lack.Lack, error) {
	certificate := s.objects.IssuedCertificate()
	l, err := r.findKind(certificate, lacking{
		reason: ReasonCertManagerNotInstalled, remedy: "install cert-manager, or leave gateway.tls.certManager out for a certificate of the operator's own",
	})
	if l != nil || err != nil {
		return l, err
	}
	if err := r.own(ctx, s, certificate); err != nil {
		return nil, err
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(certificate.GroupVersionKind())
	if err := r.Client.Get(ctx, client.ObjectKeyFromObject(certificate), live); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read Certificate %q: %w", certificate.GetName(), err)
	}
	return certificateLack(certificate.GetName(), live), nil
}

// certificateLack reads what cert-manager says of a Certificate.
func certificateLack(name string, live *unstructured.Unstructured) *lack.Lack {
	why := "cert-manager has not looked at it yet"
	if ready := readyCondition(live); ready.Type != "" && ready.ObservedGeneration == live.GetGeneration() {
		if ready.Status == metav1.ConditionTrue {
			return nil
		}
		why = fmt.Sprintf("%s: %s", ready.Reason, ready.Message)
	}
	return &lack.Lack{
		Reason: ReasonCertificateNotReady, Detail: fmt.Sprintf("Certificate %q is not ready: %s", name, why),
		Remedy: fmt.Sprintf("see kubectl describe certificate %s, its issuer, and the log of cert-manager", name),
	}
}

// endCertManager deletes the Certificate where units still have what it made, and are to have another's: nothing would use it any more.
func (r *Reconciler) endCertManager(ctx context.Context, s *state) error {
	var units appsv1.StatefulSet
	name := types.NamespacedName{Namespace: s.cluster.Namespace, Name: manifest.UnitsName(s.cluster)}
	if err := r.Client.Get(ctx, name, &units); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read StatefulSet %q: %w", name.Name, err)
	}
	if !slices.ContainsFunc(units.Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Secret != nil && v.Secret.SecretName == manifest.IssuedName(s.cluster)
	}) {
		return nil
	}
	certificate := &unstructured.Unstructured{}
	certificate.SetGroupVersionKind(manifest.CertificateKind)
	name.Name = manifest.IssuedName(s.cluster)
	err := r.Client.Get(ctx, name, certificate)
	if err == nil && metav1.IsControlledBy(certificate, s.cluster) {
		err = r.Client.Delete(ctx, certificate)
	}
	if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
		return fmt.Errorf("delete Certificate %q: %w", name.Name, err)
	}
	return nil
}
