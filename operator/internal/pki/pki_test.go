package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/freshet-io/freshet/operator/internal/pki"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestServer_isTrustedByWhoTrustsTheAuthority(t *testing.T) {
	authority, server := issued(t)
	pair, err := tls.X509KeyPair(server.Cert, server.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Cert)
	for host, trusted := range map[string]bool{"shop": true, "shop.default.svc": true, "other": false} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: now.Add(80 * 24 * time.Hour)})
		if (err == nil) != trusted {
			t.Errorf("verify for %s: %v", host, err)
		}
	}
}

func TestCertificate_isForWhatItWasIssued(t *testing.T) {
	authority, server := issued(t)
	node, err := authority.Node(now, "node", "shop")
	if err != nil {
		t.Fatal(err)
	}
	client, err := authority.Client(now, "root")
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.Cert)
	for _, c := range []struct {
		cert             pki.Certificate
		name             string
		serves, connects bool
		hosts            []string
	}{
		{server, "shop", true, false, []string{"shop", "shop.default.svc"}}, {node, "node", true, true, []string{"shop"}}, {client, "root", false, true, nil},
	} {
		pair, err := tls.X509KeyPair(c.cert.Cert, c.cert.Key)
		if err != nil {
			t.Fatal(err)
		}
		for use, want := range map[x509.ExtKeyUsage]bool{x509.ExtKeyUsageServerAuth: c.serves, x509.ExtKeyUsageClientAuth: c.connects} {
			_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{use}})
			if (err == nil) != want {
				t.Errorf("%s, use %d: %v", c.name, use, err)
			}
		}
		if pair.Leaf.Subject.CommonName != c.name {
			t.Errorf("%s is called %q", c.name, pair.Leaf.Subject.CommonName)
		}
		if c.cert.Due(now, authority, c.hosts...) {
			t.Errorf("%s is due when it is new", c.name)
		}
	}
}

func TestDue_beforeTheCertificateIsOfNoUse(t *testing.T) {
	authority, server := issued(t)
	other, _ := issued(t)
	hosts := []string{"shop", "shop.default.svc"}
	for _, c := range []struct {
		name      string
		cert      pki.Certificate
		authority pki.Certificate
		at        time.Duration
		hosts     []string
		want      bool
	}{
		{"new", server, authority, 0, hosts, false},
		{"after two months", server, authority, 59 * 24 * time.Hour, hosts, false},
		{"last month", server, authority, 61 * 24 * time.Hour, hosts, true},
		{"clock far behind", server, authority, -2 * time.Hour, hosts, true},
		{"another host", server, authority, 0, hosts[:1], true},
		{"another authority", server, other, 0, hosts, true},
		{"nothing", pki.Certificate{}, authority, 0, hosts, true},
		{"authority", authority, authority, 6 * 365 * 24 * time.Hour, nil, false},
		{"old authority", authority, authority, 7 * 365 * 24 * time.Hour, nil, true},
	} {
		if got := c.cert.Due(now.Add(c.at), c.authority, c.hosts...); got != c.want {
			t.Errorf("%s: due is %v, want %v", c.name, got, c.want)
		}
	}
}

func issued(t *testing.T) (authority, server pki.Certificate) {
	t.Helper()
	authority, err := pki.NewAuthority("shop", now)
	if err != nil {
		t.Fatal(err)
	}
	server, err = authority.Server(now, "shop", "shop.default.svc")
	if err != nil {
		t.Fatal(err)
	}
	return authority, server
}
