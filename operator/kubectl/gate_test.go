package kubectl

import (
	"net"
	"testing"
	"time"
)

func TestGate_closesThoughTheEndpointIsSilent(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	g, err := openGate(&endpoint{host: "shop.default.svc", addr: silent.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	client, err := net.Dial("tcp", g.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	asked, err := silent.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer asked.Close()
	closed := make(chan error, 1)
	go func() { closed <- g.close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the gate waits for an endpoint that does not answer")
	}
}
