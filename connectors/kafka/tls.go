package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
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
	// CA, Cert and Key are the same as PEM, for who has no files; a file wins.
	CA   string `json:"-"`
	Cert string `json:"-"`
	Key  string `json:"-"`
	// ServerName is the name that the server's certificate must have. Empty: the host that is connected to.
	ServerName string `json:"server_name,omitempty"`
}

// Client returns the configuration of a connection that is about to be made, with the files as they are now.
func (t TLS) Client() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	ca, caName, err := pemOf(t.CAFile, t.CA)
	if err != nil {
		return nil, fmt.Errorf("read the authorities' certificates: %w", err)
	}
	if len(ca) > 0 {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("read the authorities' certificates: %s holds none in PEM", caName)
		}
	}
	cert, _, err := pemOf(t.CertFile, t.Cert)
	if err != nil {
		return nil, fmt.Errorf("read the client certificate: %w", err)
	}
	key, _, err := pemOf(t.KeyFile, t.Key)
	if err != nil {
		return nil, fmt.Errorf("read the client certificate: %w", err)
	}
	switch {
	case len(cert) == 0 && len(key) == 0:
	case len(cert) == 0 || len(key) == 0:
		return nil, errors.New("a client certificate needs both its file and its key's")
	default:
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// pemOf returns what a file holds, or else the text; name says where it is from.
func pemOf(file, text string) (pem []byte, name string, err error) {
	if file == "" {
		return []byte(text), "the given text", nil
	}
	pem, err = os.ReadFile(file)
	return pem, file, err
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
	if t == (TLS{}) && !turnsOn(get("TLS")) {
		return nil
	}
	return &t
}

// turnsOn reports whether a value turns TLS on. One that is neither true nor false does: a word that is not understood must not leave a connection open.
func turnsOn(value string) bool {
	on, err := strconv.ParseBool(value)
	return on || err != nil && value != ""
}
