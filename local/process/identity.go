package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// killWait bounds the wait for the end of a process that got SIGKILL; only a process
// stuck in the kernel needs that long.
const killWait = 10 * time.Second

// Identity names one process for ever: an id may be reused, an id with its start time is not.
type Identity struct {
	PID int `json:"pid"`
	// Started is the process's start in clock ticks since boot, field 22 of /proc/PID/stat.
	Started uint64 `json:"started"`
	// Boot is the kernel's boot id: ticks of another boot mean nothing.
	Boot string `json:"boot"`
}

// Identify reads the identity of a running process.
func Identify(pid int) (Identity, error) {
	started, ended, err := stat(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	if ended {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, os.ErrProcessDone)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return Identity{PID: pid, Started: started, Boot: strings.TrimSpace(string(boot))}, nil
}

// Alive reports whether this very process still runs, if only to end its threads. A zombie does not run.
func (id Identity) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	now, err := Identify(id.PID)
	return err == nil && now == id
}

// Signal sends a signal to this very process; one that is gone is not an error.
func (id Identity) Signal(sig unix.Signal) error {
	fd, err := id.open()
	if err != nil || fd < 0 {
		return err
	}
	defer unix.Close(fd)
	if err := unix.PidfdSendSignal(fd, sig, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("send %v to process %d: %w", sig, id.PID, err)
	}
	return nil
}

// Kill ends this very process with SIGKILL and waits until it is gone.
func (id Identity) Kill() error {
	if err := id.Signal(unix.SIGKILL); err != nil {
		return err
	}
	return id.Wait(killWait)
}

// Wait waits until this very process is gone, at most for limit.
func (id Identity) Wait(limit time.Duration) error {
	fd, err := id.open()
	if err != nil || fd < 0 {
		return err
	}
	defer unix.Close(fd)
	deadline := time.Now().Add(limit)
	for {
		left := max(time.Until(deadline), 0)
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return fmt.Errorf("wait for process %d: %w", id.PID, err)
		case n > 0:
			return nil
		case left == 0:
			return fmt.Errorf("wait for process %d: still there after %v", id.PID, limit)
		}
	}
}

// open returns a handle of this very process, or -1 when it is gone. The identity is checked
// after the handle is held, so that the id cannot change hands in between.
func (id Identity) open() (int, error) {
	if id.PID <= 0 {
		return -1, nil
	}
	fd, err := unix.PidfdOpen(id.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return -1, nil
	}
	if err != nil {
		return -1, fmt.Errorf("open process %d: %w", id.PID, err)
	}
	if !id.Alive() {
		unix.Close(fd)
		return -1, nil
	}
	return fd, nil
}

// Descendants lists the running children of a process, and theirs, as far as they can be seen.
func Descendants(pid int) []Identity {
	var found []Identity
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		list, err := os.ReadFile(task)
		if err != nil {
			continue // the thread has ended since
		}
		for field := range bytes.FieldsSeq(list) {
			child, err := strconv.Atoi(string(field))
			if err != nil {
				continue
			}
			if id, err := Identify(child); err == nil {
				found = append(found, id)
				found = append(found, Descendants(child)...)
			}
		}
	}
	return found
}

// WorkingIn lists the running processes of one program whose working directory is dir, as far as they can be seen.
func WorkingIn(dir, program string) []Identity {
	var found []Identity
	links, _ := filepath.Glob("/proc/[0-9]*/cwd")
	for _, link := range links {
		if cwd, err := os.Readlink(link); err != nil || cwd != dir {
			continue
		}
		proc := filepath.Dir(link)
		if exe, err := os.Readlink(filepath.Join(proc, "exe")); err != nil || filepath.Base(exe) != program {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(proc))
		if err != nil {
			continue
		}
		if id, err := Identify(pid); err == nil {
			found = append(found, id)
		}
	}
	return found
}

// stat reads from /proc/PID/stat when a process started, and whether it has ended but for its parent's notice.
// A killed process is a zombie while its other threads are still ending and hold its files and locks: it has ended when they have.
func stat(pid int) (started uint64, ended bool, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false, err
	}
	// The name in parentheses may itself hold blanks and parentheses: fields are counted from the last one.
	i := bytes.LastIndexByte(b, ')')
	if i < 0 {
		return 0, false, fmt.Errorf("unexpected /proc/%d/stat %q", pid, b)
	}
	fields := strings.Fields(string(b[i+1:]))
	const stateField, threadsField, startField = 0, 17, 19 // fields 3, 20 and 22 of proc(5)
	if len(fields) <= startField {
		return 0, false, fmt.Errorf("unexpected /proc/%d/stat %q", pid, b)
	}
	threads, err := strconv.Atoi(fields[threadsField])
	if err != nil {
		return 0, false, fmt.Errorf("unexpected /proc/%d/stat: %w", pid, err)
	}
	started, err = strconv.ParseUint(fields[startField], 10, 64)
	return started, fields[stateField] == "Z" && threads <= 1, err
}
