package manifest

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// CertificateKind is the kind of cert-manager's Certificates.
var CertificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}

// IssuedName names cert-manager's Certificate for the endpoint and the Secret that it makes, which is another than that of the operator's own
// certificate: nobody writes the other's.
func IssuedName(c *v1alpha1.HTAPCluster) string { return c.Name + "-endpoint-tls" }

// IssuedCertificate is the Certificate by which cert-manager issues the endpoint's certificate.
func (c Cluster) IssuedCertificate() *unstructured.Unstructured {
	spec := c.Spec.Gateway.TLS.CertManager
	fields := map[string]any{
		"secretName": IssuedName(c.HTAPCluster),
		"dnsNames":   slices.Concat(texts(Hosts(c.HTAPCluster)), texts(spec.DNSNames)),
		"issuerRef":  map[string]any{"name": spec.IssuerRef.Name, "kind": spec.IssuerRef.Kind, "group": spec.IssuerRef.Group},
		"usages":     []any{"digital signature", "server auth"},
		"privateKey": map[string]any{"algorithm": "ECDSA", "size": int64(256), "rotationPolicy": "Always"},
	}
	if spec.Duration != nil {
		fields["duration"] = spec.Duration.Duration.String()
	}
	return c.foreign(CertificateKind, componentUnit, IssuedName(c.HTAPCluster), fields)
}

// AuthoritySecret names the Secret that may have, in key ca.crt, what vouches for the endpoint's certificate; that of the operator's own does.
func AuthoritySecret(c *v1alpha1.HTAPCluster) (name string, own bool) {
	switch tls := c.Spec.Gateway.TLS; {
	case tls.SecretRef != nil:
		return tls.SecretRef.Name, false
	case tls.CertManager != nil:
		return IssuedName(c), false
	}
	return CAName(c), true
}
