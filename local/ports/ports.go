package ports

import (
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Host is the only address that ports are reserved of.
const Host = "127.0.0.1"

// Address is host:port of a port of the loopback address.
func Address(port int) string { return net.JoinHostPort(Host, strconv.Itoa(port)) }

// Reservation keeps ports until it is released or garbage, or its process ends, whether servers listen there or not. The zero value keeps none.
type Reservation struct{ sockets []*os.File }

// Reserve keeps a port of the loopback address for each of ports, instead of what r kept before: where it is 0, one that nobody
// uses, which is stored there; otherwise that very port. A [*TakenError] names server and the port on which somebody
// listens; r keeps what it kept then.
func (r *Reservation) Reserve(server string, ports ...*int) error {
	next := Reservation{}
	for _, port := range ports {
		socket, bound, err := bind(*port)
		if err != nil {
			next.Release()
			return &TakenError{Server: server, Port: *port, Err: err}
		}
		next.sockets = append(next.sockets, socket)
		*port = bound
	}
	r.Release()
	*r = next
	return nil
}

// Release gives the ports back. It may be called again.
func (r *Reservation) Release() {
	for _, s := range r.sockets {
		s.Close()
	}
	r.sockets = nil
}

// bind returns a socket that is bound to a port and does not listen. Processes that are started do not inherit it.
func bind(port int) (*os.File, int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("open a socket: %w", err)
	}
	socket := os.NewFile(uintptr(fd), "reservation of a port")
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		socket.Close()
		return nil, 0, fmt.Errorf("let a server share the port: %w", err)
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port}); err != nil {
		socket.Close()
		return nil, 0, fmt.Errorf("bind %s: %w", Address(port), err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		socket.Close()
		return nil, 0, fmt.Errorf("read which port was bound: %w", err)
	}
	return socket, name.(*unix.SockaddrInet4).Port, nil
}

// TakenError says that a port is taken.
type TakenError struct {
	// Server is who was to listen there.
	Server string
	Port   int
	Err    error
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("start %s: port %d is taken: %v; end what listens there or choose another port", e.Server, e.Port, e.Err)
}

// Unwrap returns the error of binding.
func (e *TakenError) Unwrap() error { return e.Err }
