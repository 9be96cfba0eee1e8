//go:build kafka

package debezium_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/debezium"
	access "github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/e2e/stand"
)

// The account of the secure listener.
const user, password = "unit", "open-sesame"

// serverPEM is the file with the broker's key and certificate; authorityPEM holds the certificate alone.
const serverPEM, authorityPEM = "server.pem", "authority.pem"

// writeCertificates makes a certificate for the loopback address that is its own authority.
func writeCertificates(dir string) (keyFile string, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "freshet test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	server := append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), authority...)
	if err := os.WriteFile(filepath.Join(dir, authorityPEM), authority, 0o600); err != nil {
		return "", err
	}
	return filepath.Join(dir, serverPEM), os.WriteFile(filepath.Join(dir, serverPEM), server, 0o600)
}

// guard stands in front of Kafka Connect as an ingress does: TLS, and a user with a password.
func (b *testbed) guard(t *testing.T) (address, caFile string) {
	t.Helper()
	target, err := url.Parse(b.stack.connect.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name, secret, _ := r.BasicAuth(); name != user || secret != password {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return server.URL, caFile
}

// secured returns the settings of a secure transport as a gateway's environment gives them.
func (b *testbed) secured(t *testing.T) map[string]string {
	t.Helper()
	passwordFile := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(passwordFile, []byte(password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	connect, caFile := b.guard(t)
	return map[string]string{
		"KAFKA_BROKERS": b.stack.broker.SecureAddress(), "KAFKA_TLS_CA_FILE": filepath.Join(b.stack.dir, authorityPEM),
		"KAFKA_SASL_USER": user, "KAFKA_SASL_PASSWORD_FILE": passwordFile,
		"CONNECT_URL": connect, "CONNECT_TLS_CA_FILE": caFile, "CONNECT_USER": user, "CONNECT_PASSWORD_FILE": passwordFile,
	}
}

func transport(variables map[string]string) func(*debezium.Config) {
	return func(c *debezium.Config) {
		lookup := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
		c.Kafka, c.Connect = access.FromEnvironment("KAFKA_", lookup), debezium.RESTFromEnvironment("CONNECT_", lookup)
	}
}

func TestSource_streamsOverTLSWithPasswords(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT g, g FROM generate_series(1, 100) g")
	variables := b.secured(t)
	m := sourcetest.NewModel()
	m.Start(t, b.newSource(transport(variables)))
	b.exec("UPDATE t SET v = v + 1", "DELETE FROM t WHERE id % 3 = 0")
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
}

func TestSource_tellsWhoRefusesIt(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	for name, c := range map[string]struct {
		change map[string]string
		want   string
	}{
		"a wrong password of Kafka":    {map[string]string{"KAFKA_SASL_PASSWORD_FILE": "", "KAFKA_SASL_PASSWORD": "guess"}, "SASL_AUTHENTICATION_FAILED"},
		"an authority that is unknown": {map[string]string{"KAFKA_TLS_CA_FILE": "", "KAFKA_TLS": "true"}, "certificate"},
		"no TLS":                       {map[string]string{"KAFKA_TLS_CA_FILE": ""}, ""},
		"a wrong password of Connect":  {map[string]string{"CONNECT_PASSWORD_FILE": "", "CONNECT_PASSWORD": "guess"}, "it refuses user"},
		"Connect's authority unknown":  {map[string]string{"CONNECT_TLS_CA_FILE": ""}, "certificate"},
	} {
		t.Run(name, func(t *testing.T) {
			variables := b.secured(t)
			for k, v := range c.change {
				variables[k] = v
			}
			_, err := b.newSource(transport(variables)).Tables(stand.Within(t, 20*time.Second))
			if err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Fatalf("error %v, want one that says %q", err, c.want)
			}
			if strings.Contains(err.Error(), password) {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}
