package kubectl

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// gate lets clients on this machine in without TLS, and speaks TLS with the endpoint, for those that know an endpoint by a connection
// string only and could not verify a certificate that is for another host than the one they connect to.
type gate struct {
	endpoint *endpoint
	tls      *tls.Config
	listener net.Listener

	ctx    context.Context
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// openGate listens on loopback.
func openGate(e *endpoint) (*gate, error) {
	cfg, err := e.tls()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the clients: %w", err)
	}
	g := &gate{endpoint: e, tls: cfg, listener: l}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.ended.Go(g.accept)
	return g, nil
}

func (g *gate) addr() string { return g.listener.Addr().String() }

// close ends all sessions.
func (g *gate) close() error {
	g.cancel()
	err := g.listener.Close()
	g.ended.Wait()
	return err
}

func (g *gate) accept() {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return // closed
		}
		g.ended.Go(func() { g.serve(client) })
	}
}

// serve relays until one side ends. Where the endpoint cannot be reached, the client sees its connection end.
func (g *gate) serve(client net.Conn) {
	defer client.Close()
	server, err := g.dial()
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(g.ctx, func() {
		client.Close()
		server.Close()
	})
	defer stop()
	var both sync.WaitGroup
	relay := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // either end means the end of the session
		to.Close()
	}
	both.Go(func() { relay(server, client) })
	both.Go(func() { relay(client, server) })
	both.Wait()
}

// The request for TLS that comes before a session, and the answer that grants it.
const (
	sslRequest = 80877103
	granted    = 'S'
)

var errNoTLS = errors.New("the endpoint offers no TLS")

// dial opens a TLS connection to the endpoint as PostgreSQL's protocol does.
func (g *gate) dial() (net.Conn, error) {
	var d net.Dialer
	raw, err := d.DialContext(g.ctx, "tcp", g.endpoint.addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(g.ctx, func() { raw.Close() }) // an endpoint may take connections and answer nothing
	defer stop()
	request := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 8), sslRequest)
	answer := make([]byte, 1)
	if _, err = raw.Write(request); err == nil {
		_, err = io.ReadFull(raw, answer)
	}
	if err == nil && answer[0] != granted {
		err = errNoTLS
	}
	secure := tls.Client(raw, g.tls)
	if err == nil {
		err = secure.HandshakeContext(g.ctx)
	}
	if err != nil {
		raw.Close()
		return nil, err
	}
	return secure, nil
}
