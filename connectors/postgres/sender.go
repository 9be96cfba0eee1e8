package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sys/unix"
)

// errElsewhere says that a server process cannot be told from others here.
var errElsewhere = errors.New("the server is not reached by a socket in the file system, or runs among other processes than this one")

// placeSender tells who asked for it which of the server's processes serves a connection.
func (s *Source) placeSender(conn *pgconn.PgConn) {
	if s.cfg.PlaceSender == nil {
		return
	}
	pid, err := localSender(conn)
	if err == nil {
		err = s.cfg.PlaceSender(pid)
	}
	if err != nil {
		s.log.Warn("the server's process for replication stays where the server put it", "error", err)
	}
}

// localSender returns the process id of the server's process behind a connection. The id that the server tells means something
// else where it runs in another container, or where a pooler is in between: the process has to be a child of the one that listens on the socket.
func localSender(conn *pgconn.PgConn) (int, error) {
	listener, err := listeningProcess(conn.Conn())
	if err != nil {
		return 0, err
	}
	pid := int(conn.PID())
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errElsewhere, err)
	}
	// The second field is the name in parentheses, which may hold anything; then come the state and the parent.
	var state string
	var parent int
	if _, err := fmt.Fscan(bytes.NewReader(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &parent); err != nil {
		return 0, fmt.Errorf("read the parent of process %d: %w", pid, err)
	}
	if parent != listener {
		return 0, errElsewhere
	}
	return pid, nil
}

// listeningProcess returns the process id of who listens on the other side of a socket in the file system.
func listeningProcess(c net.Conn) (int, error) {
	if s, ok := c.(*socket); ok {
		c = s.Conn
	}
	unixConn, ok := c.(*net.UnixConn)
	if !ok {
		return 0, errElsewhere
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("find the server's process: %w", err)
	}
	var peer *unix.Ucred
	var peerErr error
	err = raw.Control(func(fd uintptr) { peer, peerErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(err, peerErr); err != nil {
		return 0, fmt.Errorf("find the server's process: %w", err)
	}
	return int(peer.Pid), nil // 0 where it is not among the processes that are seen from here
}
