package manifest

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EnginePassword is the Secret with the engine's password, and what asked for it to be replaced last.
func (c Cluster) EnginePassword(password, rotation string) *corev1.Secret {
	secret := &corev1.Secret{
		ObjectMeta: meta(c.HTAPCluster, componentUnit, EngineName(c.HTAPCluster)),
		Data:       map[string][]byte{PasswordKey: []byte(password)},
	}
	if rotation != "" {
		secret.Data[RotationKey] = []byte(rotation)
	}
	return secret
}

// Authority is the Secret with the certificate and key of the cluster's own authority.
func (c Cluster) Authority(cert, key []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: meta(c.HTAPCluster, componentUnit, CAName(c.HTAPCluster)),
		Data:       map[string][]byte{"ca.crt": cert, "ca.key": key},
	}
}

// Certificate is the Secret with the endpoint's certificate.
func (c Cluster) Certificate(cert, key []byte) *corev1.Secret {
	return tlsSecret(meta(c.HTAPCluster, componentUnit, TLSName(c.HTAPCluster)), cert, key)
}

func tlsSecret(of metav1.ObjectMeta, cert, key []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: of,
		Type:       corev1.SecretTypeTLS,
		Data:       map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key},
	}
}
