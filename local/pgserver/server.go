package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
)

// Superuser is the name of the role that initdb creates.
const Superuser = "postgres"

// Config says where and how to run a server.
type Config struct {
	// Home is the folder of the binaries, with bin/initdb and bin/postgres.
	Home string
	// DataDir is initialised by the first Start.
	DataDir string
	// Port to listen on, on the loopback address; 0 chooses a free one and keeps it for later starts.
	Port int
	// Settings override the defaults of this package. ALTER SYSTEM overrides both, but for wal_level and
	// unix_socket_directories.
	Settings map[string]string
	// Cores pins the server and all its backends to these CPUs; empty leaves them free.
	Cores []int
	// LogFile receives the server's log; empty is DataDir + ".log".
	LogFile string
	// Volatile leaves out the fsyncs of initialising the data folder, not those of the server.
	Volatile bool
	// Template is a folder of data folders that initdb has filled, for servers of tests: a new data folder is a copy of one there, which is
	// made if need be. Copies have the same password and the same system identifier. Empty has initdb fill each data folder.
	Template string
}

// Server is one server on one data folder. Start, Stop and Kill must not be called at the same time.
type Server struct {
	process.Child
	cfg      Config
	port     int
	reserved ports.Reservation
	password string
	owner    *syscall.Credential
	logged   int64 // what the log had when the server was launched
}

// New returns a server that is not started yet.
func New(cfg Config) (*Server, error) {
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("resolve data folder %s: %w", cfg.DataDir, err)
	}
	cfg.DataDir = dir
	if cfg.LogFile == "" {
		cfg.LogFile = cfg.DataDir + ".log"
	}
	owner, err := process.Unprivileged()
	if err != nil {
		return nil, fmt.Errorf("set up PostgreSQL, which refuses to run as root: %w", err)
	}
	return &Server{Child: process.NewChild("PostgreSQL", syscall.SIGINT), cfg: cfg, port: cfg.Port, owner: owner}, nil
}

// Start initialises the data folder if it is not there, starts the server and returns when it accepts connections.
// A server that crashed before is recovered by PostgreSQL itself.
func (s *Server) Start(ctx context.Context) error {
	if s.Running() {
		return fmt.Errorf("start PostgreSQL on %s: it runs already as process %d", s.cfg.DataDir, s.PID())
	}
	if err := process.Reachable(filepath.Join(s.cfg.Home, "bin", "postgres"), s.owner); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := process.Reachable(s.cfg.DataDir, s.owner); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	if err := s.initialise(ctx); err != nil {
		return fmt.Errorf("initialise PostgreSQL's data folder %s: %w", s.cfg.DataDir, err)
	}
	if err := s.freeFromOthers(); err != nil {
		return err
	}
	if err := s.writeSettings(); err != nil {
		return fmt.Errorf("write PostgreSQL's settings: %w", err)
	}
	if err := s.reserved.Reserve("PostgreSQL", &s.port); err != nil {
		return err
	}
	return s.launch(ctx)
}

// launch starts the server process and waits until it is ready.
func (s *Server) launch(ctx context.Context) error {
	log, err := os.OpenFile(s.cfg.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open PostgreSQL's log: %w", err)
	}
	defer log.Close()
	before, err := log.Stat()
	if err != nil {
		return fmt.Errorf("look at PostgreSQL's log: %w", err)
	}
	s.logged = before.Size()
	err = s.Launch(process.Spec{
		Path:       filepath.Join(s.cfg.Home, "bin", "postgres"),
		Args:       s.arguments(),
		Dir:        "/",
		Env:        environment(),
		Output:     log,
		Credential: s.owner,
		Cores:      s.cfg.Cores,
		Orphaned:   syscall.SIGQUIT, // immediate shutdown: the server takes its backends with it
	})
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx); err != nil {
		return errors.Join(fmt.Errorf("start PostgreSQL on %s: %w", s.cfg.DataDir, err), s.Kill())
	}
	return nil
}

// waitReady watches the status that the server itself keeps in postmaster.pid.
func (s *Server) waitReady(ctx context.Context) error {
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		lock, err := readLockFile(s.cfg.DataDir)
		if err == nil && lock.pid == s.PID() && lock.status == "ready" {
			return nil
		}
		select {
		case <-s.Done():
			return fmt.Errorf("the server ended (%s); its log %s ends:\n%s", s.Exit(), s.cfg.LogFile, s.logEnd())
		case <-ctx.Done():
			return fmt.Errorf("wait until it is ready: %w; its log %s ends:\n%s", ctx.Err(), s.cfg.LogFile, s.logEnd())
		case <-poll.C:
		}
	}
}

// discardLimit bounds the end of a server that is to end at once. PostgreSQL itself kills its backends after five seconds.
const discardLimit = 10 * time.Second

// Discard ends a server whose data nobody needs, without writing them out. Unlike one that was killed, it leaves no shared memory behind,
// of which the system has so many pieces: that one's is freed by its next start on the same folder only.
func (s *Server) Discard() error {
	ctx, cancel := context.WithTimeout(context.Background(), discardLimit)
	defer cancel()
	return s.StopBy(ctx, syscall.SIGQUIT)
}

// Port returns the port, 0 before the first start unless it was configured.
func (s *Server) Port() int { return s.port }

// Addr returns host:port.
func (s *Server) Addr() string { return ports.Address(s.port) }

// Password returns the superuser's password, empty before the first start.
func (s *Server) Password() string { return s.password }

// PasswordFile is where the superuser's password is kept.
func (s *Server) PasswordFile() string { return filepath.Join(s.cfg.DataDir, passwordFile) }

// LogFile returns the path of the server's log.
func (s *Server) LogFile() string { return s.cfg.LogFile }

// URL returns the superuser's connection string for a database.
func (s *Server) URL(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(Superuser, s.password),
		Host:     s.Addr(),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// LocalURL is [Server.URL] by the server's socket in the file system, which costs both sides a fraction of what the
// loopback interface does for many small messages, such as a change stream's. It is the same as URL where the
// path of the data folder is none for a socket.
func (s *Server) LocalURL(database string) string {
	if s.socketDir() == "" {
		return s.URL(database)
	}
	u := url.URL{
		Scheme: "postgres",
		User:   url.UserPassword(Superuser, s.password),
		Path:   "/" + database,
		// Clients take a plus sign, by which forms write a space, for itself.
		RawQuery: strings.ReplaceAll(url.Values{
			"host": {s.socketDir()}, "port": {strconv.Itoa(s.port)}, "sslmode": {"disable"},
		}.Encode(), "+", "%20"),
	}
	return u.String()
}

// socketDir is the folder of the server's socket: the data folder, which nobody else may enter. It is empty where
// the socket's path would be longer than the system allows (108 bytes), or has a comma, which clients take for the end of one host of several.
func (s *Server) socketDir() string {
	const longest = 107 - len("/.s.PGSQL.65535.lock")
	if len(s.cfg.DataDir) > longest || strings.Contains(s.cfg.DataDir, ",") {
		return ""
	}
	return s.cfg.DataDir
}

// environment is the caller's without what would redirect or translate PostgreSQL.
func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PG") && !strings.HasPrefix(v, "LC_") && !strings.HasPrefix(v, "LANG") {
			env = append(env, v)
		}
	}
	return append(env, "LC_ALL=C", "TZ=UTC")
}
