package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet-io/freshet/local/process"
)

// The file descriptors that a background supervisor inherits: one to report to the command that started
// it, and the lock on the state folder, which so never changes hands.
const (
	reportFD = 3
	lockFD   = 4
)

// downLimit bounds the end of a supervisor: its servers' limits, one after the other, and some room.
const downLimit = 5*stopLimit + 10*time.Second

// report is a line from a background supervisor to the command that started it.
type report struct {
	Progress string `json:"progress,omitempty"`
	Ready    bool   `json:"ready,omitempty"`
	Error    string `json:"error,omitempty"`
}

// Up starts a platform behind a background supervisor and returns when its endpoint accepts connections. Where one
// runs already, it waits until that is up and says so; its configuration stays as it is.
func Up(ctx context.Context, cfg Config, progress func(string)) (already bool, err error) {
	cfg, err = cfg.complete()
	if err != nil {
		return false, err
	}
	if cfg, err = cfg.resolveCDC(); err != nil {
		return false, err
	}
	// The tools are fetched here, where somebody watches.
	if err := cfg.fetch(ctx); err != nil {
		return false, err
	}
	if err := os.MkdirAll(cfg.Dir, 0o711); err != nil {
		return false, fmt.Errorf("create state folder: %w; choose another one with --dir", err)
	}
	for {
		lock, err := hold(cfg.Dir)
		if err == nil {
			defer lock.Close() // the supervisor has inherited it, and holds it on
			return false, spawn(ctx, cfg, lock, progress)
		}
		if !errors.Is(err, ErrHeld) {
			return false, err
		}
		if running, err := awaitRunning(ctx, cfg.Dir); running || err != nil {
			return true, err
		}
		// The supervisor that held the folder has ended meanwhile: it is our turn.
	}
}

// spawn starts the supervisor in a session of its own and follows its reports. Where ctx ends before it is up, it is stopped again.
func spawn(ctx context.Context, cfg Config, lock *os.File, progress func(string)) error {
	stdin, err := configPipe(cfg)
	if err != nil {
		return fmt.Errorf("hand the supervisor its configuration: %w", err)
	}
	defer stdin.Close()
	log, err := os.OpenFile(filepath.Join(cfg.Dir, supervisorLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open the supervisor's log: %w", err)
	}
	defer log.Close()
	reports, reporter, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	defer reports.Close()
	cmd := exec.Command(cfg.GatewayExecutable, "local", "run")
	cmd.Stdin = stdin
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{reporter, lock}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	reporter.Close()
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	interrupt := context.AfterFunc(ctx, func() { _ = reports.SetReadDeadline(time.Unix(1, 0)) })
	defer interrupt()
	lines := json.NewDecoder(reports)
	for {
		var r report
		err := lines.Decode(&r)
		switch {
		case err != nil && ctx.Err() != nil:
			return errors.Join(fmt.Errorf("wait until the platform is up: stopped it: %w", ctx.Err()),
				cmd.Process.Signal(syscall.SIGTERM), cmd.Wait())
		case err != nil:
			return errors.Join(fmt.Errorf("start the supervisor: it ended; its log %s ends:\n%s", log.Name(), process.LogTail(log.Name())), cmd.Wait())
		case r.Ready:
			return cmd.Process.Release()
		case r.Error != "":
			_ = cmd.Wait() // its exit status says what we know
			return errors.New(r.Error)
		default:
			progress(r.Progress)
		}
	}
}

// configPipe returns a pipe that holds the configuration, which is much smaller than a pipe. Commands that race
// cannot mix their configurations up, as they could in a file.
func configPipe(cfg Config) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if err := json.NewEncoder(w).Encode(cfg); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Daemon is the background supervisor: what [Up] starts, which also writes its configuration to stdin. Cache and Logger
// are the caller's. It runs until ctx ends.
func Daemon(ctx context.Context, stdin io.Reader, cfg Config) error {
	unix.CloseOnExec(reportFD) // the servers must not inherit them
	unix.CloseOnExec(lockFD)
	reporter, lock := os.NewFile(reportFD, "reports"), os.NewFile(lockFD, lockFile)
	defer lock.Close()
	tell := func(r report) {
		_ = json.NewEncoder(reporter).Encode(r) // the command may have been killed: go on without it
	}
	if err := json.NewDecoder(stdin).Decode(&cfg); err != nil {
		err = fmt.Errorf("read the supervisor's configuration: %w", err)
		tell(report{Error: err.Error()})
		return err
	}
	cfg, err := cfg.complete()
	if err == nil {
		err = run(ctx, cfg,
			func(step string) { tell(report{Progress: step}) },
			func(Platform) { tell(report{Ready: true}); reporter.Close() })
	}
	if err != nil {
		tell(report{Error: err.Error()})
	}
	return err
}

// Down stops the platform of a state folder and returns when everything has ended. It returns false where nothing ran.
func Down(ctx context.Context, dir string) (bool, error) {
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	lock, err := hold(dir)
	if err == nil {
		defer lock.Close()
		state, err := readState(dir)
		if err != nil || state.Phase == Stopped {
			return false, err
		}
		// The supervisor was killed. Its servers end by themselves; make sure of it.
		cfg, err := Config{Dir: dir, GatewayExecutable: "-", EngineExecutable: "-"}.complete()
		if err != nil {
			return false, err
		}
		if err := (&supervisor{cfg: cfg}).endLeftovers(); err != nil {
			return false, err
		}
		return true, writeJSON(filepath.Join(dir, stateFile), State{Phase: Stopped})
	}
	if !errors.Is(err, ErrHeld) {
		return false, err
	}
	id, err := awaitSupervisor(ctx, dir)
	if err != nil {
		return false, err
	}
	if err := id.Signal(unix.SIGTERM); err != nil {
		return false, fmt.Errorf("stop the supervisor: %w", err)
	}
	if err := id.Wait(downLimit); err != nil {
		return false, fmt.Errorf("stop the supervisor: %w; its log is %s", err, filepath.Join(dir, supervisorLog))
	}
	return true, nil
}

// Reset stops the platform of a state folder and deletes its data, credentials and logs.
func Reset(ctx context.Context, dir string) error {
	lock, err := holdStopped(ctx, dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	// Only what a platform writes: --dir may name a folder that holds more. The credentials go
	// last, so that an interrupted reset can be repeated, and then the lock: without it others may begin.
	if err := deleteParts(dir, postgresDir, postgresDir+".new", postgresDir+".log", engineDir, engineDir+".config", engineDir+".log",
		brokerDir, brokerDir+".log", connectDir, connectDir+".log", cdcFile, gatewayFile, gatewayLog, supervisorLog, stateFile, credentialsFile, lockFile); err != nil {
		return err
	}
	_ = os.Remove(dir) // unless it holds something else
	return nil
}

// ResetReplica stops the platform of a state folder and deletes its columnar replica alone: the next [Up] copies all tables anew. What Kafka has of changes goes with it, and
// the slot at that start, for they lead nowhere without the replica; this is also the way on from a slot that is lost.
func ResetReplica(ctx context.Context, dir string) error {
	lock, err := holdStopped(ctx, dir)
	if err != nil {
		return err
	}
	return errors.Join(deleteParts(dir, engineDir, connectDir, brokerDir), lock.Close())
}

// holdStopped stops the platform of a state folder and keeps anybody from starting it until the lock is closed.
func holdStopped(ctx context.Context, dir string) (*os.File, error) {
	_, credentialsErr := os.Stat(filepath.Join(dir, credentialsFile))
	_, dataErr := os.Stat(filepath.Join(dir, postgresDir)) // the credentials may be lost
	if credentialsErr != nil && dataErr != nil {
		if errors.Is(credentialsErr, os.ErrNotExist) {
			return nil, fmt.Errorf("reset %s: there is no platform in it", dir)
		}
		return nil, credentialsErr
	}
	if _, err := Down(ctx, dir); err != nil {
		return nil, err
	}
	return hold(dir)
}

// deleteParts deletes files and folders of a state folder.
func deleteParts(dir string, names ...string) error {
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("reset %s: %w", dir, err)
		}
	}
	return nil
}

// awaitRunning waits until the supervisor that holds the folder is up. It returns false where none holds it any more.
func awaitRunning(ctx context.Context, dir string) (running bool, err error) {
	err = await(ctx, func() (bool, error) {
		lock, err := hold(dir)
		if err == nil {
			return true, lock.Close()
		}
		if !errors.Is(err, ErrHeld) {
			return false, err
		}
		state, err := readState(dir)
		running = state.Phase == Running && state.Supervisor.Alive()
		return running, err
	})
	return running, err
}

// awaitSupervisor waits until the supervisor that holds the folder has written who it is.
func awaitSupervisor(ctx context.Context, dir string) (id process.Identity, err error) {
	err = await(ctx, func() (bool, error) {
		state, err := readState(dir)
		id = state.Supervisor
		return id.Alive(), err
	})
	return id, err
}

// await asks until the answer is yes, at most for as long as a start may take.
func await(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 2*startLimit+2*kafkaStartLimit)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the supervisor that holds the state folder: %w", ctx.Err())
		case <-again.C:
		}
	}
}
