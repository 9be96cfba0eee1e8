package diskfull

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/chengine"
)

var mount = flag.Bool("mount", true, "mount a small file system where that is allowed")

// disk is where an engine keeps its data, and can be full.
type disk interface {
	// dir is the folder.
	dir() string
	// fill leaves no space to an engine, also where it frees some by itself, until the returned function is called.
	fill(t *testing.T, engine *chengine.Server) (free func())
	// shows reports whether a gateway's problem is that the disk is full.
	shows(problem string) bool
	// refuses says that the engine is told of every write that fails.
	refuses() bool
}

// newDisk returns a small file system in memory where the test may mount one, else a plain folder whose files may not grow.
func newDisk(t *testing.T) disk {
	t.Helper()
	dir := filepath.Join(stand.Dir(t), "disk")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if !*mount {
		return limited(dir)
	}
	err := unix.Mount("freshet-test", dir, "tmpfs", 0, "size=128m")
	if errors.Is(err, unix.EPERM) {
		t.Log("may not mount a file system: files are limited in size instead")
		return limited(dir)
	}
	if err != nil {
		t.Fatalf("mount a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return small(dir)
}

// small is a file system of its own.
type small string

func (s small) dir() string { return string(s) }

// fill lets a file grow into all the space that there is and that comes to be.
func (s small) fill(t *testing.T, _ *chengine.Server) (free func()) {
	t.Helper()
	path := filepath.Join(string(s), "ballast")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	grow := func() {
		for size := 1 << 20; size >= 1<<12; {
			if _, err := f.Write(make([]byte, size)); err != nil {
				size /= 2
			}
		}
	}
	grow()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				grow()
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(stop)
		<-stopped
		if err := errors.Join(f.Close(), os.Remove(path)); err != nil {
			t.Errorf("free the disk: %v", err)
		}
	})
}

func (s small) shows(problem string) bool {
	return strings.Contains(problem, string(cdc.CodeEngineDiskFull))
}

func (s small) refuses() bool { return true }

// limited is a plain folder.
type limited string

func (l limited) dir() string { return string(l) }

// fill limits the size of the files that the engine writes.
func (l limited) fill(t *testing.T, engine *chengine.Server) (free func()) {
	t.Helper()
	limit := func(bytes uint64) error {
		var now unix.Rlimit
		if err := unix.Prlimit(engine.PID(), unix.RLIMIT_FSIZE, nil, &now); err != nil {
			return err
		}
		now.Cur = min(bytes, now.Max)
		return unix.Prlimit(engine.PID(), unix.RLIMIT_FSIZE, &now, nil)
	}
	if err := limit(1); err != nil {
		t.Fatalf("limit the engine's files: %v", err)
	}
	return sync.OnceFunc(func() {
		if err := limit(unix.RLIM_INFINITY); err != nil && !errors.Is(err, unix.ESRCH) {
			t.Errorf("free the disk: %v", err)
		}
	})
}

// shows accepts any problem: of some files that are cut short the engine (26.7) learns when it reads them.
func (l limited) shows(problem string) bool { return problem != "" }

func (l limited) refuses() bool { return false }
