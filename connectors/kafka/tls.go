package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
)

// TLS says how to verify a server and how to prove who the client is. The zero value trusts the system's authorities and has no
// client certificate. There is no way not to verify.
type TLS struct {
	// CAFile holds the certificates, in PEM, of the authorities to trust instead of the system's.
	CAFile string `json:"ca_file,omitempty"`
	// CertFile and KeyFile hold the client's certificate and its key, in PEM.
	CertFile string `json:"cert_file,omitempty"`
	KeyFile  string `json:"key_file,omitempty"`
	// ServerName is the name that the server's certificate must have. Empty: the host that is connected to.
	ServerName string `json:"server_name,omitempty"`
}

// Client returns the configuration of a connection that is about to be made, with the files as they are now.
func (t TLS) Client() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the authorities' certificates: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the authorities' certificates: %s holds none in PEM", t.CAFile)
		}
	}
	switch {
	case t.CertFile == "" && t.KeyFile == "":
	case t.CertFile == "" || t.KeyFile == "":
		return nil, errors.New("a client certificate needs both its file and its key's")
	default:
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Dial connects to a server.
func (t TLS) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := t.Client()
	if err != nil {
		return nil, err
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: c}
	return dialer.DialContext(ctx, network, address)
}

// TLSFromEnvironment reads the TLS_ variables that [FromEnvironment] names; nil if none turns TLS on.
func TLSFromEnvironment(prefix string, lookup func(string) (string, bool)) *TLS {
	get := func(name string) string {
		value, _ := lookup(prefix + name)
		return strings.TrimSpace(value)
	}
	t := TLS{CAFile: get("TLS_CA_FILE"), CertFile: get("TLS_CERT_FILE"), KeyFile: get("TLS_KEY_FILE"), ServerName: get("TLS_SERVER_NAME")}
	if t == (TLS{}) && get("TLS") != "true" {
		return nil
	}
	return &t
}
