package process_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet-io/freshet/local/process"
)

// TestMain lets the test binary be a parent that is killed: it starts a sleeper and tells its id.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "parent" {
		p, err := process.Start(process.Spec{Path: "/bin/sleep", Args: []string{"600"}})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(p.PID())
		<-p.Done()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestProcess_diesWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0], "parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 16)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	child, err := process.Identify(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, out)
	_ = parent.Wait() // killed, as it says
	if err := child.Wait(10 * time.Second); err != nil {
		t.Error(err)
	}
}

func TestProcess_killTakesItsDescendantsToo(t *testing.T) {
	p, err := process.Start(process.Spec{Path: "/bin/sh", Args: []string{"-c", "sleep 600 & wait"}})
	if err != nil {
		t.Fatal(err)
	}
	var tree []process.Identity
	for len(tree) == 0 { // until the shell has started it
		tree = process.Descendants(p.PID())
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, id := range append(tree, p.Identity()) {
		if id.Alive() {
			t.Errorf("process %d is alive", id.PID)
		}
	}
}

func TestIdentity_ofAReusedIDIsNotTouched(t *testing.T) {
	p, err := process.Start(process.Spec{Path: "/bin/sleep", Args: []string{"600"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	earlier := p.Identity()
	earlier.Started--
	if earlier.Alive() {
		t.Error("a process with another start time is alive")
	}
	if err := earlier.Kill(); err != nil {
		t.Error(err)
	}
	if !p.Identity().Alive() {
		t.Error("the process that has the id now was killed")
	}
}

func TestStart_saysWhatCannotBeStarted(t *testing.T) {
	if _, err := process.Start(process.Spec{Path: "/nowhere/program"}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := process.Start(process.Spec{Path: "/bin/sleep", Args: []string{"1"}, Cores: []int{100000}}); err == nil || !strings.Contains(err.Error(), "pin to cores") {
		t.Errorf("got %v, want that it cannot be pinned", err)
	}
}

func TestStart_putsAProcessBehindOthersAndBeforeThemWhereItMay(t *testing.T) {
	own, before := priorities(t)
	for nice, want := range map[int]int{0: own, 5: own + 5, -5: before} {
		p, err := process.Start(process.Spec{Path: "/bin/sleep", Args: []string{"600"}, Nice: nice})
		if err != nil {
			t.Fatal(err)
		}
		got := priority(t, p.PID())
		if err := p.Kill(); err != nil {
			t.Error(err)
		}
		if got != want {
			t.Errorf("a process started with %d has priority %d, want %d", nice, got, want)
		}
	}
}

func TestStart_givesAPinnedProcessASessionOfItsOwn(t *testing.T) {
	own, err := unix.Getsid(0)
	if err != nil {
		t.Fatal(err)
	}
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	first := 0
	for !allowed.IsSet(first) {
		first++
	}
	for _, cores := range [][]int{nil, {first}} {
		p, err := process.Start(process.Spec{Path: "/bin/sleep", Args: []string{"600"}, Cores: cores})
		if err != nil {
			t.Fatal(err)
		}
		session, sessionErr := unix.Getsid(p.PID())
		group, groupErr := unix.Getpgid(p.PID())
		if err := errors.Join(sessionErr, groupErr, p.Kill()); err != nil {
			t.Error(err)
		}
		want := own
		if cores != nil {
			want = p.PID()
		}
		if session != want || group != p.PID() {
			t.Errorf("a process (%d) pinned to %v is in session %d and group %d, want session %d and a group of its own", p.PID(), cores, session, group, want)
		}
	}
}

// priorities returns that of this process, and that of a child which is to go before it by 5.
func priorities(t *testing.T) (own, before int) {
	t.Helper()
	own = priority(t, 0)
	result := make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its priority
		if unix.Setpriority(unix.PRIO_PROCESS, 0, own-5) != nil {
			result <- own
			return
		}
		result <- own - 5
	}()
	return own, <-result
}

// priority returns a process's; 0 means the calling thread.
func priority(t *testing.T, pid int) int {
	t.Helper()
	raw, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
	if err != nil {
		t.Fatal(err)
	}
	return 20 - raw
}

func TestReachable_namesTheClosedFolder(t *testing.T) {
	dir := t.TempDir() // closed to others
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	stranger := &syscall.Credential{Uid: 12345, Gid: 12345}
	if err := process.Reachable(dir+"/data", stranger); err == nil || !strings.Contains(err.Error(), "closed to it") {
		t.Errorf("got %v", err)
	}
	if err := process.Reachable(dir+"/data", nil); err != nil {
		t.Errorf("got %v for the caller itself", err)
	}
	if err := process.Reachable("/bin/sh", stranger); err != nil {
		t.Errorf("got %v for /bin/sh", err)
	}
}
