//go:build kubernetes

package images_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/freshet-io/freshet/e2e/images"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/toolchain"
)

// container is an unpacked image with volumes. What runs in it does so as a container's process does: as the image's user, with a root
// that it cannot write to, processes of its own, and nothing of this machine but the network.
type container struct {
	root    string
	config  v1.Config
	volumes []string
}

// build returns an image by its name.
func build(t *testing.T, name string) images.Image {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	list, err := images.Build(t.Context(), cache, nil, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range list {
		if image.Name == name {
			return image
		}
	}
	t.Fatalf("no image %s", name)
	return images.Image{}
}

// unpack makes a container of an image. Volumes are folders in it that its user can write to.
func unpack(t *testing.T, name string, volumes ...string) container {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("run as root: a container's root folder takes it")
	}
	image, err := tarball.ImageFromPath(build(t, name).Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	c := container{root: filepath.Join(t.TempDir(), "root"), config: file.Config}
	content := mutate.Extract(image)
	defer content.Close()
	extract(t, content, c.root)
	user, _, _ := strings.Cut(c.config.User, ":")
	id, err := strconv.Atoi(user)
	if err != nil {
		t.Fatal(err)
	}
	// What a container's runtime makes.
	for _, dir := range []string{"proc", "dev", "etc"} {
		if err := os.MkdirAll(filepath.Join(c.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(c.root, "etc", "hosts"), []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, volume := range volumes {
		source := filepath.Join(t.TempDir(), "volume")
		err := errors.Join(os.MkdirAll(filepath.Join(c.root, volume), 0o755), os.Mkdir(source, 0o775), os.Chown(source, 0, id), os.Chmod(source, 0o775|os.ModeSetgid))
		if err != nil {
			t.Fatal(err)
		}
		c.volumes = append(c.volumes, source, volume)
	}
	return c
}

// volume returns the folder of this machine that is a volume's content.
func (c container) volume(t *testing.T, path string) string {
	t.Helper()
	for i := 0; i < len(c.volumes); i += 2 {
		if c.volumes[i+1] == path {
			return c.volumes[i]
		}
	}
	t.Fatalf("no volume %s", path)
	return ""
}

func extract(t *testing.T, content io.Reader, root string) {
	t.Helper()
	if err := os.MkdirAll(root, 0o755); err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(content); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = extractOne(files, h, filepath.Join(root, h.Name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func extractOne(content io.Reader, h *tar.Header, path string) error {
	switch h.Typeflag {
	case tar.TypeDir:
		return errors.Join(os.MkdirAll(path, 0o755), os.Chown(path, h.Uid, h.Gid), os.Chmod(path, h.FileInfo().Mode()))
	case tar.TypeSymlink:
		return os.Symlink(h.Linkname, path)
	case tar.TypeReg:
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, h.FileInfo().Mode())
		if err != nil {
			return err
		}
		_, err = io.Copy(f, content)
		return errors.Join(err, f.Close(), os.Chown(path, h.Uid, h.Gid))
	default:
		return fmt.Errorf("extract %s: unexpected type %c", h.Name, h.Typeflag)
	}
}

// enter mounts what is around a container and becomes its process: ROOT USER PATH [SOURCE TARGET]… -- COMMAND…
const enter = `set -e
root=$1 user=$2 path=$3; shift 3
mount --make-rprivate /
mount --bind "$root" "$root"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; shift 2; done; shift
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount -o remount,bind,ro "$root"
chroot=$(command -v chroot)
PATH=$path
exec "$chroot" --userspec="$user" --groups= "$root" "$@"`

// process is a container's process, number one of its own.
type process struct {
	*exec.Cmd
	output lockedBuffer
	done   chan struct{} // closed when it has ended
}

// start runs a command; none is the image's own. It is gone at the end of the test.
func (c container) start(t *testing.T, env []string, command ...string) *process {
	t.Helper()
	all := append(append([]string{}, c.config.Env...), env...)
	path := ""
	for _, v := range all {
		if p, ok := strings.CutPrefix(v, "PATH="); ok {
			path = p
		}
	}
	args := append([]string{"-c", enter, "enter", c.root, c.config.User, path}, c.volumes...)
	p := &process{Cmd: exec.Command("sh", append(append(append(args, "--"), c.config.Entrypoint...), command...)...), done: make(chan struct{})}
	p.Stdout, p.Stderr = &p.output, &p.output
	p.Env = append(all, "PATH="+os.Getenv("PATH")) // the script's
	p.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		p.kill()
		if output := p.output.String(); t.Failed() && output != "" {
			t.Logf("output of %q:\n%s", append(c.config.Entrypoint, command...), output)
		}
	})
	return p
}

// kill ends all processes of the container at once.
func (p *process) kill() {
	_ = p.Process.Kill() // it may have ended
	<-p.done
}

// end sends a signal and returns the exit code.
func (p *process) end(t *testing.T, s os.Signal) int {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(2 * time.Minute):
		t.Fatalf("it does not end by signal %v", s)
	}
	return p.ProcessState.ExitCode()
}

// until waits for a condition, while the process runs.
func (p *process) until(t *testing.T, what string, condition func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		err := condition()
		if err == nil {
			return
		}
		select {
		case <-p.done:
			t.Fatalf("wait for %s: the process ended (%s): %v", what, p.ProcessState, err)
		case <-ctx.Done():
			t.Fatalf("wait for %s: %v", what, err)
		case <-poll.C:
		}
	}
}

// freePort returns a port that nobody else gets.
func freePort(t *testing.T) string { return strconv.Itoa(stand.Port(t)) }

type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
