package pgwire

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"fmt"
	"math/big"
	"net"
	"time"
)

// alpn is the protocol name that PostgreSQL registered for TLS.
const alpn = "postgresql"

// LoadTLS reads a certificate and its key, both PEM, for [Config.TLS].
func LoadTLS(certFile, keyFile string) (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, fmt.Errorf("load the endpoint's certificate %s: %w; give PEM files that belong together", certFile, err)
	}
	return serverTLS(cert), nil
}

// SelfSignedTLS makes a certificate of its own for the given host names and addresses, valid for ten years
// from now, for [Config.TLS]. Clients can encrypt by it, but not verify it.
func SelfSignedTLS(now time.Time, hosts ...string) (*tls.Config, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the endpoint's key: %w", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "freshet"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(10, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make the endpoint's certificate: %w", err)
	}
	return serverTLS(tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}), nil
}

// needsTLS reports whether a listener on addr is reachable from other machines.
func needsTLS(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

func serverTLS(cert tls.Certificate) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{alpn}}
}

// startBackendTLS asks PostgreSQL for TLS on conn, for as long as ctx lives. Where it is optional and PostgreSQL refuses, the connection is used as it is.
func startBackendTLS(ctx context.Context, conn net.Conn, cfg *tls.Config, optional bool) (net.Conn, error) {
	answer, err := askForTLS(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("ask PostgreSQL for TLS: %w", err)
	}
	if answer == 'N' && optional {
		return conn, nil
	}
	if answer != 'S' {
		return nil, fmt.Errorf("ask PostgreSQL for TLS: it refuses; set ssl = on there, or connect the gateway without TLS")
	}
	cfg = cfg.Clone()
	cfg.NextProtos = []string{alpn}
	cfg.Certificates, cfg.GetClientCertificate = nil, nil // they say who the gateway is, and the session is its client's
	t := tls.Client(conn, cfg)
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, fmt.Errorf("start TLS with PostgreSQL: %w", err)
	}
	return t, nil
}

// askForTLS returns the server's answer to a request for TLS.
func askForTLS(ctx context.Context, conn net.Conn) (byte, error) {
	interrupt := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	request := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), codeSSLRequest)
	var answer [1]byte
	_, err := conn.Write(request)
	if err == nil {
		_, err = conn.Read(answer[:])
	}
	if !interrupt() {
		return 0, context.Cause(ctx)
	}
	return answer[0], err
}

// peekedConn gives back the bytes that were read ahead of it.
type peekedConn struct {
	net.Conn
	r *bufio.Reader
}

func (c peekedConn) Read(b []byte) (int, error) { return c.r.Read(b) }
