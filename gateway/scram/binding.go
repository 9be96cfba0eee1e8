package scram

import (
	"crypto"
	_ "crypto/sha512" // for signatures by it
	"crypto/x509"
)

// EndPoint returns the binding data tls-server-end-point of a server's certificate: its hash by the algorithm of its signature, or by
// SHA-256 where that is MD5 or SHA-1 (RFC 5929, section 4.1). Nil: its signature names no hash, and the channel cannot be bound to.
func EndPoint(cert *x509.Certificate) []byte {
	var hash crypto.Hash
	switch cert.SignatureAlgorithm {
	case x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1,
		x509.SHA256WithRSA, x509.SHA256WithRSAPSS, x509.DSAWithSHA256, x509.ECDSAWithSHA256:
		hash = crypto.SHA256
	case x509.SHA384WithRSA, x509.SHA384WithRSAPSS, x509.ECDSAWithSHA384:
		hash = crypto.SHA384
	case x509.SHA512WithRSA, x509.SHA512WithRSAPSS, x509.ECDSAWithSHA512:
		hash = crypto.SHA512
	default:
		return nil
	}
	h := hash.New()
	h.Write(cert.Raw)
	return h.Sum(nil)
}
