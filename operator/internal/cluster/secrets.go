package cluster

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/pki"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// issueCertificate issues the endpoint's certificate and renews it, has cert-manager do so, or takes the one that is given.
func (r *Reconciler) issueCertificate(ctx context.Context, s *state) (task.Result, error) {
	if s.cluster.Spec.Gateway.TLS.CertManager != nil {
		return r.issueByCertManager(ctx, s)
	}
	if err := r.endCertManager(ctx, s); err != nil {
		return task.Done, err
	}
	if ref := s.cluster.Spec.Gateway.TLS.SecretRef; ref != nil {
		return r.takeCertificate(ctx, s, ref.Name, "create it, or leave gateway.tls.secretRef out")
	}
	s.objects.CertificateSecret = manifest.TLSName(s.cluster)
	authority, err := r.issueAuthority(ctx, s)
	if err != nil {
		return task.Done, err
	}
	server, err := r.issueServer(ctx, s, authority, manifest.TLSName(s.cluster), manifest.Hosts(s.cluster))
	if err != nil {
		return task.Done, err
	}
	s.inputs = append(s.inputs, map[string][]byte{"cert": server.Cert})
	return task.Done, r.own(ctx, s, s.objects.Certificate(server.Cert, server.Key))
}

// issueAuthority issues the cluster's own authority and renews it.
func (r *Reconciler) issueAuthority(ctx context.Context, s *state) (pki.Certificate, error) {
	authority, err := r.authority(ctx, s, manifest.CAName(s.cluster), "HTAPCluster ")
	if err != nil {
		return pki.Certificate{}, err
	}
	return authority, r.own(ctx, s, s.objects.Authority(authority.Cert, authority.Key))
}

// authority returns the authority in a Secret of the operator's, a new one where that is due, with a title before the cluster's name.
func (r *Reconciler) authority(ctx context.Context, s *state, secret, title string) (pki.Certificate, error) {
	authority, err := r.readCertificate(ctx, s, secret, "ca.crt", "ca.key")
	if err != nil {
		return pki.Certificate{}, err
	}
	if now := r.Clock(); authority.Due(now, authority) {
		return pki.NewAuthority(title+s.cluster.Namespace+"/"+s.cluster.Name, now)
	}
	return authority, nil
}

// issueServer returns the certificate in a Secret of the operator's, a new one where that is due, for a server with these names.
func (r *Reconciler) issueServer(ctx context.Context, s *state, authority pki.Certificate, secret string, hosts []string) (pki.Certificate, error) {
	server, err := r.readCertificate(ctx, s, secret, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	if err != nil {
		return pki.Certificate{}, err
	}
	if now := r.Clock(); server.Due(now, authority, hosts...) {
		return authority.Server(now, hosts...)
	}
	return server, nil
}

// takeCertificate takes the certificate that a user, or cert-manager, has put into a Secret; remedy says what to do where there is none.
func (r *Reconciler) takeCertificate(ctx context.Context, s *state, name, remedy string) (task.Result, error) {
	secret, err := r.readSecret(ctx, s, name)
	switch {
	case err != nil:
		return task.Done, err
	case secret == nil:
		s.isNot(v1alpha1.ConditionPipelineReady, ReasonSecretNotFound, "Secret %q with the endpoint's certificate does not exist; %s", name, remedy)
		return task.Wait(whenNot), nil
	case len(secret[corev1.TLSCertKey]) == 0 || len(secret[corev1.TLSPrivateKeyKey]) == 0:
		s.isNot(v1alpha1.ConditionPipelineReady, ReasonSecretIncomplete, "Secret %q needs keys tls.crt and tls.key", name)
		return task.Wait(whenNot), nil
	}
	if _, err := tls.X509KeyPair(secret[corev1.TLSCertKey], secret[corev1.TLSPrivateKeyKey]); err != nil { // no unit would start with it
		s.isNot(v1alpha1.ConditionPipelineReady, ReasonCertificateInvalid, "Secret %q: %v; write a certificate and its own key there, as PEM", name, err)
		return task.Wait(whenNot), nil
	}
	s.objects.CertificateSecret = name
	s.inputs = append(s.inputs, map[string][]byte{"cert": secret[corev1.TLSCertKey]})
	return task.Done, nil
}

// readCertificate reads a Secret of the operator's; what is not there is empty.
func (r *Reconciler) readCertificate(ctx context.Context, s *state, name, certKey, keyKey string) (pki.Certificate, error) {
	secret, err := r.readSecret(ctx, s, name)
	return pki.Certificate{Cert: secret[certKey], Key: secret[keyKey]}, err
}

// passwordIn returns the password in a Secret of the operator's, or a new one where there is none.
func (r *Reconciler) passwordIn(ctx context.Context, s *state, name string) (string, error) {
	secret, err := r.readSecret(ctx, s, name)
	if err != nil {
		return "", err
	}
	if p := secret["password"]; len(p) > 0 {
		return string(p), nil
	}
	return rand.Text(), nil
}

// readSecret returns the contents of a Secret in the cluster's namespace; nil: there is no such Secret.
func (r *Reconciler) readSecret(ctx context.Context, s *state, name string) (map[string][]byte, error) {
	var secret corev1.Secret
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: s.cluster.Namespace, Name: name}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Secret %q: %w", name, err)
	case secret.Data == nil:
		return map[string][]byte{}, nil
	}
	return secret.Data, nil
}
