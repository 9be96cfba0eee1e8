package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/server"
)

// selfSigned writes a certificate and its key, PEM, for a user or a server of this name.
func selfSigned(t *testing.T, name, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(
		os.WriteFile(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600),
		os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600),
	); err != nil {
		t.Fatal(err)
	}
}

// admitByCertificate makes the superuser repl, who logs in by a certificate, and returns repl's connection string.
func admitByCertificate(t *testing.T, direct string) string {
	t.Helper()
	admin, err := pgx.Connect(t.Context(), direct)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(t.Context())
	data := query(t, admin, "SHOW data_directory")[0]
	own := t.TempDir()
	cert, key := filepath.Join(own, "repl.crt"), filepath.Join(own, "repl.key")
	selfSigned(t, "repl", cert, key)
	selfSigned(t, "localhost", filepath.Join(data, "server.crt"), filepath.Join(data, "server.key"))
	authority, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	hba := "hostssl all repl 127.0.0.1/32 cert\nhost all all all scram-sha-256\n"
	if err := errors.Join(os.WriteFile(filepath.Join(data, "root.crt"), authority, 0o600), os.WriteFile(query(t, admin, "SHOW hba_file")[0], []byte(hba), 0o600)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(data)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	for _, name := range []string{"server.crt", "server.key", "root.crt"} {
		if err := os.Chown(filepath.Join(data, name), int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	for _, sql := range []string{"CREATE ROLE repl LOGIN SUPERUSER", "ALTER SYSTEM SET ssl = on", "ALTER SYSTEM SET ssl_ca_file = 'root.crt'", "SELECT pg_reload_conf()"} {
		exec(t, admin, sql)
	}
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.RawQuery = url.User("repl"), url.Values{"sslmode": {"require"}, "sslcert": {cert}, "sslkey": {key}}.Encode()
	awaitLogin(t, u.String())
	return u.String()
}

// awaitLogin waits until the server has read its configuration anew, and lets a user in.
func awaitLogin(t *testing.T, dsn string) {
	t.Helper()
	ctx := stand.Within(t, time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgconn.Connect(ctx, dsn)
		if err == nil {
			if err := conn.Close(ctx); err != nil {
				t.Fatal(err)
			}
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

// The gateway's certificate says who the gateway is. Clients that it vouched for would all be the gateway's role.
func TestServer_lendsItsCertificateToNobody(t *testing.T) {
	t.Parallel()
	g := startWith(t, func(c *server.Config) { c.PostgresURL = admitByCertificate(t, c.PostgresURL) })
	if got := query(t, g.client(), "SELECT DISTINCT client_dn FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'repl'"); len(got) != 1 || got[0] != "/CN=repl" {
		t.Errorf("the gateway itself is known by %q, want its certificate", got)
	}
	conn, err := pgconn.Connect(t.Context(), fmt.Sprintf("postgres://repl@%s/postgres?sslmode=disable", g.info.Addr))
	if err == nil {
		_ = conn.Close(t.Context())
		t.Fatal("a client without password or certificate is logged in as the gateway's role")
	}
	if refusal, ok := errors.AsType[*pgconn.PgError](err); !ok || refusal.Code != "28000" {
		t.Errorf("refused by %v, want SQLSTATE 28000", err)
	}
}
