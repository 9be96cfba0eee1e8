package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"time"
)

// How long certificates are good for.
const (
	authorityLife = 10 * 365 * 24 * time.Hour
	serverLife    = 90 * 24 * time.Hour
)

// backdate makes up for clocks that are behind this one.
const backdate = time.Hour

// Certificate is a certificate and its key, both as PEM.
type Certificate struct{ Cert, Key []byte }

// NewAuthority makes an authority that signs itself.
func NewAuthority(name string, now time.Time) (Certificate, error) {
	template, err := newTemplate(name, now, authorityLife)
	if err != nil {
		return Certificate{}, err
	}
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	return issue(template, nil, nil)
}

// Server issues a certificate for the hosts by which clients reach a server. c must be an authority.
func (c Certificate) Server(now time.Time, hosts ...string) (Certificate, error) {
	return c.sign(now, hosts[0], hosts, x509.ExtKeyUsageServerAuth)
}

// Node issues a certificate for a server that is a client of its like, whose name says so. c must be an authority.
func (c Certificate) Node(now time.Time, name string, hosts ...string) (Certificate, error) {
	return c.sign(now, name, hosts, x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth)
}

// Client issues a certificate by which a user proves who it is. c must be an authority.
func (c Certificate) Client(now time.Time, user string) (Certificate, error) {
	return c.sign(now, user, nil, x509.ExtKeyUsageClientAuth)
}

func (c Certificate) sign(now time.Time, name string, hosts []string, uses ...x509.ExtKeyUsage) (Certificate, error) {
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		return Certificate{}, fmt.Errorf("read the authority: %w", err)
	}
	template, err := newTemplate(name, now, serverLife)
	if err != nil {
		return Certificate{}, err
	}
	template.DNSNames = hosts
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = uses
	return issue(template, pair.Leaf, pair.PrivateKey.(crypto.Signer))
}

// Due says that the certificate is to be issued anew: it cannot be read, less than a third of its life is left, it is not for exactly
// these hosts, or it was not signed by the authority.
func (c Certificate) Due(now time.Time, authority Certificate, hosts ...string) bool {
	pair, err := tls.X509KeyPair(c.Cert, c.Key)
	if err != nil {
		return true
	}
	leaf := pair.Leaf
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	if now.After(leaf.NotAfter.Add(-life/3)) || now.Before(leaf.NotBefore) {
		return true
	}
	if leaf.IsCA {
		return false
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Cert)
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
		return true
	}
	return !slices.Equal(leaf.DNSNames, hosts)
}

func newTemplate(name string, now time.Time, life time.Duration) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("choose a serial number: %w", err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: truncate(name, 64)}, // the longest that X.509 allows
		NotBefore: now.Add(-backdate), NotAfter: now.Add(life),
	}, nil
}

// issue makes a key and signs its certificate; without a parent it signs itself.
func issue(template, parent *x509.Certificate, signer crypto.Signer) (Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Certificate{}, fmt.Errorf("make a key: %w", err)
	}
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return Certificate{}, fmt.Errorf("sign a certificate: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return Certificate{}, fmt.Errorf("encode a key: %w", err)
	}
	return Certificate{Cert: encode("CERTIFICATE", der), Key: encode("PRIVATE KEY", encoded)}, nil
}

func encode(kind string, der []byte) []byte {
	var b bytes.Buffer
	_ = pem.Encode(&b, &pem.Block{Type: kind, Bytes: der}) // a bytes.Buffer does not fail
	return b.Bytes()
}

func truncate(s string, n int) string { return s[:min(n, len(s))] }
