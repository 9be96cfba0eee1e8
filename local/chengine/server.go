package chengine

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
)

// Config says where and how to run an engine. Executable, Library and DataDir are needed.
type Config struct {
	// Executable is the path of freshet-engine.
	Executable string
	// Library is the path of the engine's library.
	Library string
	// DataDir is the engine's folder, created when needed. Its configuration lies beside, in DataDir + ".config".
	DataDir string
	// HTTPPort and TCPPort to listen on; 0 chooses a free one and keeps it for later starts.
	HTTPPort, TCPPort int
	// User and Password of the only user; empty is "freshet" and a random one.
	User, Password string
	// MaxMemory caps the engine's memory, in bytes; 0 is nine tenths of the machine's.
	MaxMemory int64
	// MaxThreads bounds the threads of a query; 0 is the number of Cores, or of the machine's cores.
	MaxThreads int
	// QueryLog keeps system.query_log, which costs some CPU per query. It starts empty at every start.
	QueryLog bool
	// Settings are query settings that hold unless a query says otherwise.
	Settings map[string]string
	// Cores pins the engine to these CPUs; empty leaves it free.
	Cores []int
	// LogFile receives the engine's log; empty is DataDir + ".log".
	LogFile string
}

// Server is one engine on one data folder. Start, Stop and Kill must not be called at the same time.
type Server struct {
	// User and Password are the credentials of the only user.
	User, Password string

	process.Child
	cfg       Config
	http, tcp int
	reserved  ports.Reservation
}

// New returns an engine that is not started yet. It refuses a data folder whose name the engine does not read as it is.
func New(cfg Config) (*Server, error) {
	dir, err := filepath.Abs(cfg.DataDir)
	if err != nil {
		return nil, fmt.Errorf("resolve data folder %s: %w", cfg.DataDir, err)
	}
	if strings.Contains(dir, `\`) {
		return nil, fmt.Errorf("data folder %s: the columnar engine takes the backslash in it for a slash; choose another folder", dir)
	}
	cfg.DataDir = dir
	if cfg.LogFile == "" {
		cfg.LogFile = cfg.DataDir + ".log"
	}
	s := &Server{
		User: cfg.User, Password: cfg.Password, cfg: cfg, http: cfg.HTTPPort, tcp: cfg.TCPPort,
		Child: process.NewChild("the columnar engine", syscall.SIGTERM),
	}
	if s.User == "" {
		s.User = "freshet"
	}
	if s.Password == "" {
		s.Password = rand.Text()
	}
	return s, nil
}

// Start starts the engine and returns when it accepts connections on both ports.
func (s *Server) Start(ctx context.Context) error {
	if s.Running() {
		return fmt.Errorf("start the columnar engine on %s: it runs already as process %d", s.cfg.DataDir, s.PID())
	}
	if err := PrepareData(s.cfg.DataDir); err != nil {
		return err
	}
	if err := s.writeConfig(); err != nil {
		return fmt.Errorf("write the columnar engine's configuration: %w", err)
	}
	if err := s.reserved.Reserve("the columnar engine", &s.http, &s.tcp); err != nil {
		return err
	}
	return s.launch(ctx)
}

func (s *Server) launch(ctx context.Context) error {
	log, err := os.OpenFile(s.cfg.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the columnar engine's log: %w", err)
	}
	defer log.Close()
	ready, announce, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the columnar engine: %w", err)
	}
	defer ready.Close()
	err = s.Launch(process.Spec{
		Path: s.cfg.Executable,
		Args: []string{"--library", s.cfg.Library, "--data", s.cfg.DataDir, "--config", s.configFile(), "--host", ports.Host,
			"--http-port", strconv.Itoa(s.http), "--tcp-port", strconv.Itoa(s.tcp), "--log-level", "warning", "--ready-fd", "3"},
		Output: log,
		Extra:  []*os.File{announce},
		Cores:  s.cfg.Cores,
		Nice:   nice,
	})
	announce.Close() // the child holds the only copy now: its end ends the pipe
	if err != nil {
		return err
	}
	if err := s.waitReady(ctx, ready); err != nil {
		return errors.Join(fmt.Errorf("start the columnar engine on %s: %w", s.cfg.DataDir, err), s.Kill())
	}
	return nil
}

// waitReady reads the line with which the engine says that its ports are open.
func (s *Server) waitReady(ctx context.Context, ready *os.File) error {
	interrupt := context.AfterFunc(ctx, func() { _ = ready.SetReadDeadline(time.Unix(1, 0)) })
	defer interrupt()
	line, err := bufio.NewReader(ready).ReadString('\n')
	switch {
	case line == "ready\n":
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("wait until it is ready: %w; its log %s ends:\n%s", ctx.Err(), s.cfg.LogFile, process.LogTail(s.cfg.LogFile))
	case err == nil:
		return fmt.Errorf("the engine says %q instead of that it is ready: it is another version than freshet's; build both anew", line)
	default:
		<-s.Done() // it closed the pipe by ending
		return fmt.Errorf("the engine ended (%w, %s); if files of %s are damaged, delete the folder: it is a replica and is built anew; its log %s ends:\n%s",
			err, s.Exit(), s.cfg.DataDir, s.cfg.LogFile, process.LogTail(s.cfg.LogFile))
	}
}

// HTTPAddr returns host:port of the HTTP protocol.
func (s *Server) HTTPAddr() string { return ports.Address(s.http) }

// TCPAddr returns host:port of the native protocol.
func (s *Server) TCPAddr() string { return ports.Address(s.tcp) }

// LogFile returns the path of the engine's log.
func (s *Server) LogFile() string { return s.cfg.LogFile }
