package pgserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
	"github.com/freshet-io/freshet/local/toolchain"
)

const (
	passwordFile = "freshet.password" // in the data folder, which only its owner can read
	settingsFile = "freshet.conf"
	lockName     = "postmaster.pid"
)

// defaults are the settings that Freshet needs or is better with. They are overridden by Config.Settings.
func defaults() map[string]string {
	return map[string]string{
		"wal_level":             "logical",
		"max_replication_slots": "16",
		"max_wal_senders":       "16",
		"max_connections":       "200",
		"shared_buffers":        "256MB",
		"max_wal_size":          "2GB",
		"password_encryption":   "scram-sha-256",
		"timezone":              "UTC",
		"log_timezone":          "UTC",
		"log_line_prefix":       "%m [%p] ",
		"logging_collector":     "off",
	}
}

// initialise makes the data folder if it is not there, and never half of it.
func (s *Server) initialise(ctx context.Context) error {
	version, err := os.ReadFile(filepath.Join(s.cfg.DataDir, "PG_VERSION"))
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.create(ctx); err != nil {
			return err
		}
		return s.readPassword()
	}
	if err != nil {
		return err
	}
	if have := strings.TrimSpace(string(version)); have != toolchain.PostgresMajor {
		return &VersionError{DataDir: s.cfg.DataDir, Have: have, Want: toolchain.PostgresMajor}
	}
	return s.readPassword()
}

func (s *Server) readPassword() error {
	b, err := os.ReadFile(s.PasswordFile())
	if err != nil {
		return fmt.Errorf("read the superuser's password: %w; this folder was not made by Freshet, use another one", err)
	}
	s.password = strings.TrimSpace(string(b))
	return nil
}

// create makes a data folder beside and renames it.
func (s *Server) create(ctx context.Context) error {
	if left, err := os.ReadDir(s.cfg.DataDir); err == nil && len(left) > 0 {
		return errors.New("it is not empty, but holds no PostgreSQL data; choose another folder")
	}
	staging := s.cfg.DataDir + ".new"
	if err := os.RemoveAll(staging); err != nil { // the rest of an interrupted attempt
		return err
	}
	defer os.RemoveAll(staging)
	if err := os.MkdirAll(filepath.Dir(staging), 0o755); err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(staging, 0o700), s.give(staging)); err != nil {
		return err
	}
	data := filepath.Join(staging, "data")
	if s.cfg.Template != "" {
		if err := s.copyTemplate(ctx, data); err != nil {
			return err
		}
	} else if err := s.initdb(ctx, data, filepath.Join(staging, "password")); err != nil {
		return err
	}
	if err := os.Remove(s.cfg.DataDir); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder may be there
		return err
	}
	return os.Rename(data, s.cfg.DataDir)
}

// initdb fills the folder data, which it makes. The file secret receives the superuser's password, and ends in that folder.
func (s *Server) initdb(ctx context.Context, data, secret string) error {
	if err := errors.Join(os.Mkdir(data, 0o700), s.give(data)); err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(secret, []byte(rand.Text()+"\n"), 0o600), s.give(secret)); err != nil {
		return err
	}
	args := append(s.initArgs(), "-D", data, "--pwfile", secret)
	if s.cfg.Volatile && s.cfg.Template == "" { // a template outlives the machine's crashes
		args = append(args, "--no-sync")
	}
	cmd := exec.CommandContext(ctx, filepath.Join(s.cfg.Home, "bin", "initdb"), args...)
	cmd.Dir, cmd.Env = "/", environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setpgid: true}
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", errors.Join(err, ctx.Err()), strings.TrimSpace(output.String()))
	}
	if err := os.Rename(secret, filepath.Join(data, passwordFile)); err != nil {
		return err
	}
	return includeSettings(filepath.Join(data, "postgresql.conf"))
}

// initArgs are those that are the same for all data folders, or for all that are copied.
func (s *Server) initArgs() []string {
	args := []string{"--username", Superuser, "--auth", "scram-sha-256",
		// Text that orders by its bytes everywhere, whatever this machine's locale: what the columnar engine does too.
		"--encoding", "UTF8", "--locale", "C", "--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"}
	if s.cfg.Template != "" {
		// A test's password need not be hard to guess. Under the race detector each login would hash for some milliseconds.
		args = append(args, "--set", "scram_iterations=1")
	}
	return args
}

// includeSettings makes the server read the file that writeSettings writes.
func includeSettings(conf string) error {
	f, err := os.OpenFile(conf, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "\ninclude_if_exists = '%s'\n", settingsFile)
	return errors.Join(err, f.Close())
}

// give hands a file over to the user that the server runs as.
func (s *Server) give(path string) error {
	if s.owner == nil {
		return nil
	}
	return os.Chown(path, int(s.owner.Uid), int(s.owner.Gid))
}

// settings are all that the server is started with.
func (s *Server) settings() map[string]string {
	settings := defaults()
	settings["unix_socket_directories"] = s.socketDir()
	maps.Copy(settings, s.cfg.Settings)
	return settings
}

// indispensable are the settings without which a platform does not work. They are given on the command line, which goes before ALTER SYSTEM:
// a server whose log is not logical does not start while it has a slot, and so could not be asked to undo that.
func indispensable() []string { return []string{"unix_socket_directories", "wal_level"} }

// arguments are the server's on its command line.
func (s *Server) arguments() []string {
	args := []string{"-D", s.cfg.DataDir, "-h", ports.Host, "-p", strconv.Itoa(s.port)}
	settings := s.settings()
	for _, name := range indispensable() {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// writeSettings writes the settings to a file of their own, which postgresql.conf includes.
func (s *Server) writeSettings() error {
	settings := s.settings()
	if err := s.limitSlots(settings); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Written by Freshet at every start. Use ALTER SYSTEM for settings of your own; %s stay as they are here.\n",
		strings.Join(indispensable(), " and "))
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		fmt.Fprintf(&b, "%s = '%s'\n", name, strings.ReplaceAll(settings[name], "'", "''"))
	}
	path := filepath.Join(s.cfg.DataDir, settingsFile)
	return errors.Join(os.WriteFile(path, []byte(b.String()), 0o600), s.give(path))
}

// freeFromOthers makes sure that no other server runs on the data folder, and clears away what a killed one
// left: backends that have not noticed yet, and a lock file whose process id now belongs to something else, which PostgreSQL
// would respect for ever. A lock file of a dead process is left to PostgreSQL, which checks more than we can.
func (s *Server) freeFromOthers() error {
	lock, err := readLockFile(s.cfg.DataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	inside := process.WorkingIn(s.cfg.DataDir, "postgres") // a server and its backends work inside of their data folder
	for _, id := range inside {
		if id.PID == lock.pid {
			return &RunningError{DataDir: s.cfg.DataDir, PID: lock.pid}
		}
	}
	for _, backend := range inside {
		if err := backend.Kill(); err != nil {
			return fmt.Errorf("end a backend of a killed PostgreSQL: %w", err)
		}
	}
	if _, err := process.Identify(lock.pid); err != nil {
		return nil
	}
	if err := os.Remove(filepath.Join(s.cfg.DataDir, lockName)); err != nil {
		return fmt.Errorf("remove the lock file of a killed PostgreSQL: %w", err)
	}
	return nil
}

// lockFile is what matters of postmaster.pid.
type lockFile struct {
	pid    int
	status string // "starting", "ready", "stopping", …
}

func readLockFile(dataDir string) (lockFile, error) {
	b, err := os.ReadFile(filepath.Join(dataDir, lockName))
	if err != nil {
		return lockFile{}, err
	}
	lines := strings.Split(string(b), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return lockFile{}, fmt.Errorf("read postmaster.pid of %s: %w", dataDir, err)
	}
	const statusLine = 7 // LOCK_FILE_LINE_PM_STATUS, PostgreSQL 10 to 18
	if len(lines) <= statusLine {
		return lockFile{pid: pid}, nil
	}
	return lockFile{pid: pid, status: strings.TrimSpace(lines[statusLine])}, nil
}
