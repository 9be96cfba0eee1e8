package platform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet-io/freshet/local/process"
)

// Phase is where a platform is in its life.
type Phase string

// The phases of a platform.
const (
	Starting Phase = "starting"
	Running  Phase = "running"
	Stopping Phase = "stopping"
	Stopped  Phase = "stopped"
)

// State is what a supervisor writes about itself, for other processes to read.
type State struct {
	Phase      Phase            `json:"phase"`
	Supervisor process.Identity `json:"supervisor"`
	Endpoint   string           `json:"endpoint,omitempty"` // host:port
	Monitor    string           `json:"monitor,omitempty"`  // host:port
	Components []ComponentState `json:"components"`
}

// ComponentState is the state of one server of the platform.
type ComponentState struct {
	Name     string           `json:"name"`
	Process  process.Identity `json:"process"`
	Address  string           `json:"address"`
	Up       bool             `json:"up"`
	Restarts int              `json:"restarts"` // those that failed too
	Since    time.Time        `json:"since"`
	LogFile  string           `json:"log_file"`
	Problem  string           `json:"problem,omitempty"` // why it is down, or ended last
}

// Credentials are the secrets of a platform. They are made once and kept in the state folder.
type Credentials struct {
	User           string `json:"user"`
	Password       string `json:"password"`
	EnginePassword string `json:"engine_password"`
}

// URL returns the user's connection string for the endpoint.
func (c Credentials) URL(endpoint string) string {
	u := url.URL{Scheme: "postgresql", User: url.UserPassword(c.User, c.Password), Host: endpoint, Path: "/" + Database}
	return u.String()
}

// The names in a state folder.
const (
	lockFile        = "lock"
	stateFile       = "state.json"
	credentialsFile = "credentials.json"
	gatewayFile     = "gateway.json"
	postgresDir     = "postgres"
	engineDir       = "engine"
	brokerDir       = "kafka"
	connectDir      = "connect"
	cdcFile         = "cdc.json"
	gatewayLog      = "gateway.log"
	supervisorLog   = "supervisor.log"
	// tenantsFile is the user's, and need not exist.
	tenantsFile = "tenants.yaml"
)

// ErrHeld says that a supervisor works on the state folder.
var ErrHeld = errors.New("another supervisor works on the state folder")

// hold takes the lock of a state folder for as long as the returned file is open. The kernel
// lets go of it when the process ends, however it ends.
func hold(dir string) (*os.File, error) {
	path := filepath.Join(dir, lockFile)
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock state folder: %w", err)
		}
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EWOULDBLOCK):
			f.Close()
			return nil, ErrHeld
		case err != nil:
			f.Close()
			return nil, fmt.Errorf("lock state folder %s: %w", dir, err)
		case isAt(f, path):
			return f, nil
		}
		f.Close() // it was deleted since it was opened, and another one may be locked
	}
}

// isAt reports whether a file is the one at a path.
func isAt(f *os.File, path string) bool {
	own, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(path)
	return err == nil && os.SameFile(own, there)
}

// readState returns what the last supervisor wrote; a folder without any is Stopped.
func readState(dir string) (State, error) {
	s := State{Phase: Stopped}
	err := readJSON(filepath.Join(dir, stateFile), &s, "delete it, and freshet local up writes it anew")
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	return s, err
}

// readJSON reads a file of the state folder; remedy is for one that is damaged.
func readJSON(path string, into any, remedy string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read %s: %w; %s", path, err, remedy)
	}
	return nil
}

// writeJSON replaces a file as a whole, readable by its owner only. A full disk keeps nobody from going on with what is there already.
func writeJSON(path string, value any) error {
	b, err := json.MarshalIndent(value, "", "  ")
	if err == nil {
		b = append(b, '\n')
		err = replaceFile(path, b)
	}
	if err == nil {
		return nil
	}
	if was, readErr := os.ReadFile(path); readErr == nil && bytes.Equal(was, b) {
		return nil
	}
	return fmt.Errorf("write %s: %w", path, err)
}

func replaceFile(path string, content []byte) error {
	staging := path + ".new"
	f, err := os.OpenFile(staging, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	// Otherwise a machine that loses power may keep the new name with nothing in it.
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(staging, path)
}
