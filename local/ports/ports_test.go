package ports_test

import (
	"errors"
	"net"
	"testing"

	"github.com/freshet-io/freshet/local/ports"
)

func TestReserve_keepsThePortForWhoNamesIt(t *testing.T) {
	var a, b int
	var r ports.Reservation
	if err := r.Reserve("a server", &a, &b); err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if a == 0 || a == b {
		t.Fatalf("got ports %d and %d", a, b)
	}
	for range 2 { // a server comes back after a crash
		if err := r.Reserve("a server", &a, &b); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", ports.Address(a))
		if err != nil {
			t.Fatal(err)
		}
		client, err := net.Dial("tcp", ports.Address(a))
		if err != nil {
			t.Fatal(err)
		}
		client.Close()
		l.Close()
	}
	if c, err := net.Dial("tcp", ports.Address(b)); err == nil {
		c.Close()
		t.Error("a reservation accepts connections")
	}
}

func TestReserve_givesAPortToOneOnly(t *testing.T) {
	seen := map[int]bool{}
	for range 200 {
		var port int
		var r ports.Reservation
		if err := r.Reserve("a server", &port); err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		if seen[port] {
			t.Fatalf("port %d was given twice", port)
		}
		seen[port] = true
		l, err := net.Listen("tcp", ports.Address(0))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if got := l.Addr().(*net.TCPAddr).Port; seen[got] {
			t.Fatalf("reserved port %d was given to who asked for any", got)
		}
	}
}

func TestReserve_saysWhichIsTaken(t *testing.T) {
	l, err := net.Listen("tcp", ports.Address(0))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken, free := l.Addr().(*net.TCPAddr).Port, 0
	var r ports.Reservation
	err = r.Reserve("PostgreSQL", &free, &taken)
	if e, ok := errors.AsType[*ports.TakenError](err); !ok || e.Port != taken || e.Server != "PostgreSQL" {
		t.Errorf("got %v, want that port %d is taken", err, taken)
	}
}
