package pgwire_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

func TestServer_speaksTLS(t *testing.T) {
	cfg, err := pgwire.SelfSignedTLS(time.Now(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, func(c *pgwire.Config) { c.TLS = cfg })
	for _, query := range []string{"sslmode=require", "sslmode=require&sslnegotiation=direct", "sslmode=prefer", "sslmode=disable"} {
		t.Run(query, func(t *testing.T) {
			c := connect(t, strings.Replace(b.through, "sslmode=disable", query, 1))
			_, encrypted := c.Conn().(*tls.Conn)
			if want := query != "sslmode=disable"; encrypted != want {
				t.Errorf("encrypted: %v, want %v", encrypted, want)
			}
			run(t, c, "SELECT 1")
			run(t, c, read)
			if got := len(run(t, c, "SELECT repeat('x', 1000000) FROM generate_series(1, 3)")); got != 3 {
				t.Errorf("%d rows, want 3", got)
			}
			failed := b.hang(t, c)
			if err := c.CancelRequest(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantCode(t, <-failed, "57014")
			<-b.analytics.stopped
			run(t, c, read)
		})
	}
	t.Run("direct without ALPN", func(t *testing.T) {
		conn := tls.Client(dialRaw(t, b.addr), &tls.Config{InsecureSkipVerify: true})
		if kind, _, err := readMessage(conn); err != nil || kind != 'E' {
			t.Errorf("%c, %v; want an error message", kind, err)
		}
	})
}

func TestServer_refusesWhatIsNoStartup(t *testing.T) {
	b := newBed(t)
	const ssl, gss = "\x00\x00\x00\x08\x04\xd2\x16\x2f", "\x00\x00\x00\x08\x04\xd2\x16\x30"
	for name, tc := range map[string]struct {
		packets []string // all but the last are answered by N
		code    string   // empty: the connection is closed
		alike   bool     // PostgreSQL without TLS does the same
	}{
		"too long":                  {[]string{"\x00\x01\x00\x00\x00\x03\x00\x00"}, "", true},
		"too short":                 {[]string{"\x00\x00\x00\x04"}, "", true},
		"data after an SSL request": {[]string{ssl + "\x00\x00\x00\x10"}, "08P01", false},
		"TLS where there is none":   {[]string{"\x16\x03\x01\x00\x10abcdefghijklmnop"}, "", false},
		"two SSL requests":          {[]string{ssl, ssl}, "0A000", true},
		"two GSS requests":          {[]string{gss, gss}, "0A000", true},
		"two requests of both":      {[]string{gss, ssl, gss}, "0A000", true},
	} {
		t.Run(name, func(t *testing.T) {
			addrs := []string{b.addr}
			if tc.alike {
				addrs = append(addrs, b.pg.Addr())
			}
			for _, addr := range addrs {
				conn := dialRaw(t, addr)
				for i, packet := range tc.packets {
					if _, err := conn.Write([]byte(packet)); err != nil {
						t.Fatal(err)
					}
					if i == len(tc.packets)-1 {
						break
					}
					var answer [1]byte
					if _, err := conn.Read(answer[:]); err != nil || answer[0] != 'N' {
						t.Fatalf("%q, %v; want N", answer, err)
					}
				}
				kind, body, err := readMessage(conn)
				if tc.code == "" {
					if err == nil || isTimeout(err) {
						t.Errorf("%s: %c %q, %v; want the connection closed", addr, kind, body, err)
					}
				} else if err != nil || kind != 'E' || !strings.Contains(string(body), tc.code) {
					t.Errorf("%s: %c %q, %v; want FATAL %s", addr, kind, body, err, tc.code)
				}
			}
		})
	}
}

func isTimeout(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

func TestServer_relaysTheRefusalOfAnOldProtocol(t *testing.T) {
	b := newBed(t)
	var answers [2]string
	for i, addr := range []string{b.pg.Addr(), b.addr} {
		conn := dialRaw(t, addr)
		if _, err := conn.Write([]byte("\x00\x00\x00\x10\x00\x02\x00\x00user\x00me\x00")); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		answers[i] = string(answer)
	}
	if answers[1] != answers[0] || !strings.Contains(answers[0], "unsupported frontend protocol 2.0") {
		t.Errorf("%q, want %q", answers[1], answers[0])
	}
}

func TestServer_relaysReplication(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through+"&replication=database")
	if rows := run(t, c, "IDENTIFY_SYSTEM"); len(rows) != 1 {
		t.Errorf("IDENTIFY_SYSTEM: %v", rows)
	}
	run(t, c, "CREATE_REPLICATION_SLOT s TEMPORARY LOGICAL pgoutput")
}

func TestServer_offersTLSBeyondLoopback(t *testing.T) {
	b := newBed(t)
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- b.server.Serve(l) }()
	t.Cleanup(func() {
		l.Close()
		<-served
	})
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(strings.Replace(b.direct, b.pg.Addr(), "127.0.0.1:"+port, 1), "sslmode=disable", "sslmode=require", 1)
	run(t, connect(t, url), "SELECT 1")
}

func TestServer_relaysEveryAuthenticationMethod(t *testing.T) {
	b := newOwnBed(t)
	c := connect(t, b.direct)
	var rules strings.Builder
	for _, method := range []string{"trust", "password", "md5"} {
		run(t, c, "SET password_encryption = 'md5'; CREATE ROLE by_"+method+" LOGIN PASSWORD 'secret'")
		fmt.Fprintf(&rules, "host all by_%s all %s\n", method, method)
	}
	hba := run(t, c, "SHOW hba_file")[0][0]
	if err := os.WriteFile(hba, []byte(rules.String()+"host all all all scram-sha-256\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, c, "SELECT pg_reload_conf()")
	for _, method := range []string{"trust", "password", "md5"} {
		t.Run(method, func(t *testing.T) {
			url := strings.Replace(b.through, "postgres:"+b.pg.Password(), "by_"+method+":secret", 1)
			b.waitFor(t, "the method to be in force", func() bool {
				c, err := pgconn.Connect(t.Context(), url)
				if err != nil {
					return false
				}
				defer c.Close(t.Context())
				return run(t, c, "SELECT current_user")[0][0] == "by_"+method
			})
			_, err := pgconn.Connect(t.Context(), strings.Replace(url, "secret", "wrong", 1))
			if method == "trust" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantCode(t, err, "28P01")
		})
	}
}

func TestServer_negotiatesTheProtocolVersion(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through+"&max_protocol_version=3.2")
	if n := len(c.SecretKey()); n <= 4 {
		t.Errorf("a cancel key of %d bytes, want PostgreSQL 18's long one", n)
	}
	failed := b.hang(t, c)
	if err := c.CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-failed, "57014")
	<-b.analytics.stopped
	for _, url := range []string{b.direct, b.through} {
		if got := run(t, connect(t, url), "SELECT 1")[0][0]; got != "1" {
			t.Errorf("SELECT 1 = %s", got)
		}
	}
}

func TestServer_usesTLSToPostgreSQL(t *testing.T) {
	b := newOwnBed(t)
	certificate(t, b)
	b.gateway(t, func(c *pgwire.Config) { c.BackendTLS = &tls.Config{InsecureSkipVerify: true} })
	c := connect(t, b.through)
	if got := run(t, c, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")[0][0]; got != "t" {
		t.Errorf("pg_stat_ssl.ssl = %s, want t", got)
	}
	run(t, c, read)
	failed := b.hang(t, c)
	if err := c.CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-failed, "57014")
	<-b.analytics.stopped
}

func TestServer_takesAServerWithoutTLSWhereThatIsOptional(t *testing.T) {
	for _, optional := range []bool{false, true} {
		b := newBed(t, func(c *pgwire.Config) {
			c.BackendTLS, c.BackendTLSOptional = &tls.Config{InsecureSkipVerify: true}, optional
		})
		conn, err := pgconn.Connect(t.Context(), b.through)
		if !optional {
			wantCode(t, err, "57P03")
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
		run(t, conn, read)
	}
}

// certificate makes PostgreSQL offer TLS.
func certificate(t *testing.T, b *bed) {
	t.Helper()
	c := connect(t, b.direct)
	dir := run(t, c, "SHOW data_directory")[0][0]
	cert, key, err := pemCertificate()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	for name, data := range map[string][]byte{"server.crt": cert, "server.key": key} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, data, 0o600), os.Chown(path, int(owner.Uid), int(owner.Gid))); err != nil {
			t.Fatal(err)
		}
	}
	run(t, c, "ALTER SYSTEM SET ssl = on")
	run(t, c, "SELECT pg_reload_conf()")
	b.waitFor(t, "PostgreSQL to offer TLS", func() bool {
		c, err := pgconn.Connect(t.Context(), strings.Replace(b.direct, "sslmode=disable", "sslmode=require", 1))
		if err != nil {
			return false
		}
		return c.Close(t.Context()) == nil
	})
}

func pemCertificate() (cert, key []byte, err error) {
	cfg, err := pgwire.SelfSignedTLS(time.Now(), "localhost")
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(cfg.Certificates[0].PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cfg.Certificates[0].Certificate[0]})
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}
