package postgres

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// gatherTime is how long changes are let gather in the socket between two reads. It adds to the staleness, in the mean by
	// half, and is far below what an epoch takes.
	gatherTime = 2 * time.Millisecond
	// leastGatherTime is the shortest pause: a pause of half as much is none.
	leastGatherTime = gatherTime / 8
	// A read that finds muchGathered halves the pause, one that finds littleGathered doubles it. The buffer of a socket in the file
	// system holds a few hundred changes, whatever their size: to pause beyond that stops the server.
	muchGathered, littleGathered = 12 << 10, 4 << 10
	// gatherPatience is how many reads in a row, after the longest pause, may find nothing before the next change is waited for.
	gatherPatience = 5
)

// gatherer reads a socket in intervals while changes come: of gatherTime, or shorter ones when many are there by then.
//
// The server sends every change by itself. A reader that waits for data is then woken once for each of them, and so is any
// poller that knows of the socket, which at tens of thousands of changes a second costs the server and us more than decoding
// does. The socket is therefore taken out of the runtime's poller, and while nobody reads nobody is woken. Under load no
// read blocks either: the runtime keeps a watch on threads that do, which is as dear.
type gatherer struct {
	fd    int
	pause time.Duration // before the next read

	mu     sync.Mutex // keeps the descriptor from being interrupted when it is no longer ours
	closed bool
}

// socket is a connection whose socket a [gatherer] may take over, beneath whatever protects or buffers it.
type socket struct {
	net.Conn
	taken *gatherer
}

// gather begins to let changes gather. Nobody may be using the connection meanwhile.
func (s *socket) gather() error {
	conn, ok := s.Conn.(syscall.Conn)
	if !ok {
		return nil // not of the kernel's
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return fmt.Errorf("take over the connection: %w", err)
	}
	g := &gatherer{}
	var dupErr error
	err = raw.Control(func(fd uintptr) { g.fd, dupErr = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if err := errors.Join(err, dupErr); err != nil {
		return fmt.Errorf("take over the connection: %w", err)
	}
	s.taken = g
	return s.Conn.Close() // closes the runtime's handle only
}

func (s *socket) Read(p []byte) (int, error) {
	if s.taken != nil {
		return s.taken.Read(p)
	}
	return s.Conn.Read(p)
}

func (s *socket) Write(p []byte) (int, error) {
	if s.taken != nil {
		return s.taken.Write(p)
	}
	return s.Conn.Write(p)
}

// SetDeadline ends a connection that gathers, whatever the time.
func (s *socket) SetDeadline(t time.Time) error {
	if s.taken != nil {
		return s.taken.interrupt()
	}
	return s.Conn.SetDeadline(t)
}

// Close releases the socket. Nobody may be using it.
func (s *socket) Close() error {
	if s.taken != nil {
		return s.taken.close()
	}
	return s.Conn.Close()
}

func (g *gatherer) Read(p []byte) (int, error) {
	for empty := 0; ; {
		g.rest()
		n, err := unix.Read(g.fd, p)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			if g.pause < gatherTime {
				g.adapt(0)
				continue
			}
			if empty++; empty <= gatherPatience {
				continue
			}
			g.pause = 0
			if err := g.wait(unix.POLLIN); err != nil {
				return 0, err
			}
		case err != nil:
			return 0, fmt.Errorf("read from the server: %w", err)
		case n == 0:
			return 0, io.EOF
		default:
			if n == len(p) {
				g.pause = 0 // there is more
			} else {
				g.adapt(n)
			}
			return n, nil
		}
	}
}

// adapt sets the pause by what a read has found after the last one.
func (g *gatherer) adapt(found int) {
	switch {
	case found >= muchGathered:
		if g.pause /= 2; g.pause < leastGatherTime {
			g.pause = 0
		}
	case found <= littleGathered:
		g.pause = min(max(2*g.pause, leastGatherTime), gatherTime)
	}
}

// rest pauses. The runtime's timers are no finer than a millisecond.
func (g *gatherer) rest() {
	switch {
	case g.pause >= time.Millisecond:
		time.Sleep(g.pause)
	case g.pause > 0:
		pause := unix.NsecToTimespec(int64(g.pause))
		_ = unix.Nanosleep(&pause, nil) // interrupted, it is a shorter one
	}
}

func (g *gatherer) Write(p []byte) (int, error) {
	for written := 0; ; {
		n, err := unix.Write(g.fd, p[written:])
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			if err := g.wait(unix.POLLOUT); err != nil {
				return written, err
			}
		case err != nil:
			return written, fmt.Errorf("write to the server: %w", err)
		default:
			if written += n; written == len(p) {
				return written, nil
			}
		}
	}
}

// wait blocks until the socket is ready, or has ended.
func (g *gatherer) wait(events int16) error {
	_, err := unix.Poll([]unix.PollFd{{Fd: int32(g.fd), Events: events}}, -1)
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for the server: %w", err)
	}
	return nil
}

// interrupt makes reads and writes fail from now on, those that wait too.
func (g *gatherer) interrupt() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return net.ErrClosed
	}
	return unix.Shutdown(g.fd, unix.SHUT_RDWR)
}

func (g *gatherer) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return net.ErrClosed
	}
	g.closed = true
	return unix.Close(g.fd)
}
