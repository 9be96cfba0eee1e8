package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Spec says what to start and how.
type Spec struct {
	Path string
	Args []string // without the program's name
	Dir  string   // working directory; empty is the caller's
	Env  []string // nil is the caller's
	// Output receives standard output and standard error. Nil discards them.
	Output *os.File
	// Extra files become descriptors 3, 4, …
	Extra []*os.File
	// Credential is the user to run as; nil is the caller's.
	Credential *syscall.Credential
	// Cores pins the process and its children to these CPUs; empty leaves them free. Pinned, it leads a session of its own: kernels that
	// divide CPUs among sessions (sched(7), "The autogroup feature") give a session less of one CPU the busier it is on another, so
	// that processes of one session, pinned to different CPUs, would take each other's share.
	Cores []int
	// Nice is added to the caller's scheduling priority, -20 to 19: the higher, the more the process stands back. One that is to go
	// before others, by a number below 0, does so only where the caller may let it (CAP_SYS_NICE); elsewhere it is like the caller.
	Nice int
	// Orphaned is the signal that the process gets when its parent dies; 0 means SIGKILL.
	Orphaned syscall.Signal
}

// Process is a running child. Its methods may be called from any goroutine.
type Process struct {
	cmd      *exec.Cmd
	identity Identity
	done     chan struct{}
	err      error
}

// Start starts a process and waits for it in the background.
func Start(spec Spec) (*Process, error) {
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = spec.Dir, spec.Env, spec.Extra
	if spec.Output != nil {
		cmd.Stdout, cmd.Stderr = spec.Output, spec.Output
	}
	orphaned := spec.Orphaned
	if orphaned == 0 {
		orphaned = syscall.SIGKILL
	}
	pinned := len(spec.Cores) > 0
	cmd.SysProcAttr = &syscall.SysProcAttr{
		// A group of its own keeps the terminal's Ctrl-C from reaching the child before its owner decides. A session has one.
		Setpgid:    !pinned,
		Setsid:     pinned,
		Pdeathsig:  orphaned,
		Credential: spec.Credential,
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go p.own(spec, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	return p, nil
}

// own starts the child and waits for it on one thread that lives exactly as long as the child: the
// kernel delivers the parent-death signal when the starting *thread* ends, and the child inherits that
// thread's CPU affinity and priority. The thread is never unlocked, so that no other goroutine gets them.
func (p *Process) own(spec Spec, started chan<- error) {
	runtime.LockOSThread()
	if err := prepareThread(spec); err != nil {
		started <- err
		return
	}
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	// A child that is already gone has no identity; then nobody can signal it either.
	p.identity, _ = Identify(p.cmd.Process.Pid)
	started <- nil
	p.err = p.cmd.Wait()
	close(p.done)
}

// Priority is the scheduling priority, -20 to 19, of a process that is started with this [Spec.Nice].
func Priority(nice int) (int, error) {
	// The system call returns 20 minus the priority, so that no result is negative.
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	return max(-20, min(20-raw+nice, 19)), err
}

// prepareThread gives the calling thread what a child inherits from it.
func prepareThread(spec Spec) error {
	if len(spec.Cores) > 0 {
		if err := Pin(0, spec.Cores); err != nil {
			return err
		}
	}
	if spec.Nice == 0 {
		return nil
	}
	priority, err := Priority(spec.Nice)
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, 0, priority)
	}
	if err != nil && !(spec.Nice < 0 && errors.Is(err, unix.EACCES)) {
		return fmt.Errorf("change the priority by %d: %w", spec.Nice, err)
	}
	return nil
}

// Pin pins a process's first thread, and what that starts from now on, to the given CPUs; pid 0 is the calling thread.
func Pin(pid int, cores []int) error {
	var set unix.CPUSet
	for _, c := range cores {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(pid, &set); err != nil {
		return fmt.Errorf("pin to cores %v (this machine offers %d): %w", cores, runtime.NumCPU(), err)
	}
	return nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Identity returns what tells this process from a later one with the same id.
func (p *Process) Identity() Identity { return p.identity }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the process ended; nil for exit status 0. Valid after Done is closed.
func (p *Process) Err() error { return p.err }

// Exit describes how the process ended, for messages: "exit status 1", "signal: killed". Valid after Done is closed.
func (p *Process) Exit() string {
	if p.err != nil {
		return p.err.Error()
	}
	return p.cmd.ProcessState.String()
}

// Signal sends a signal. A process that has ended already is not an error.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to process %d: %w", sig, p.PID(), err)
	}
	return nil
}

// Kill ends the process and all its descendants at once, as kill -9 does, and returns when they are gone.
func (p *Process) Kill() error {
	var tree []Identity
	if p.identity.Alive() { // otherwise its id may be another process's by now
		tree = Descendants(p.PID())
	}
	if err := p.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	for _, child := range tree {
		if err := child.Kill(); err != nil {
			return err
		}
	}
	return nil
}
