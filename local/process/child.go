package process

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// Child is the process of a server that is started and ended again and again. Launch, Stop and Kill must not be called at
// the same time.
type Child struct {
	title string
	stop  syscall.Signal
	proc  *Process
}

// NewChild returns a child that is not started yet. Messages name it by its title ("PostgreSQL"); stop is the signal that
// ends it in order.
func NewChild(title string, stop syscall.Signal) Child { return Child{title: title, stop: stop} }

// Launch starts the process.
func (c *Child) Launch(spec Spec) error {
	proc, err := Start(spec)
	if err != nil {
		return err
	}
	c.Adopt(proc)
	return nil
}

// Adopt is Launch for a process that has been started already.
func (c *Child) Adopt(proc *Process) { c.proc = proc }

// Running reports whether the process of the last Launch runs.
func (c *Child) Running() bool {
	if c.proc == nil {
		return false
	}
	select {
	case <-c.proc.Done():
		return false
	default:
		return true
	}
}

// Stop ends the process in order. Where ctx ends before that, it is killed and the error says so.
func (c *Child) Stop(ctx context.Context) error { return c.StopBy(ctx, c.stop) }

// StopBy is [Child.Stop] by another signal.
func (c *Child) StopBy(ctx context.Context, signal syscall.Signal) error {
	if !c.Running() {
		return nil
	}
	if err := c.proc.Signal(signal); err != nil {
		return fmt.Errorf("stop %s: %w", c.title, err)
	}
	select {
	case <-c.proc.Done():
		return nil
	case <-ctx.Done():
		err := fmt.Errorf("stop %s (process %d): killed it, as it did not end in time: %w", c.title, c.PID(), ctx.Err())
		return errors.Join(err, c.Kill())
	}
}

// Kill ends the process and its descendants with SIGKILL and returns when they are gone.
func (c *Child) Kill() error {
	if !c.Running() {
		return nil
	}
	if err := c.proc.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", c.title, err)
	}
	return nil
}

// PID returns the process id, 0 before the first Launch.
func (c *Child) PID() int {
	if c.proc == nil {
		return 0
	}
	return c.proc.PID()
}

// Identity returns the process's identity, for a file that outlives this process.
func (c *Child) Identity() Identity {
	if c.proc == nil {
		return Identity{}
	}
	return c.proc.Identity()
}

// Done is closed when the process of the last Launch has ended. Nil before the first.
func (c *Child) Done() <-chan struct{} {
	if c.proc == nil {
		return nil
	}
	return c.proc.Done()
}

// Exit describes how the process ended. Valid after Done is closed.
func (c *Child) Exit() string { return c.proc.Exit() }
