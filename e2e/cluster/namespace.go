package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Isolate runs this program again with args as the first process of mount, network and process namespaces of its own,
// and returns its exit code when it has ended. Where ctx ends before that it gets SIGTERM. With it ends everything that
// it has started.
func Isolate(ctx context.Context, args ...string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("create namespaces: %w; it takes root", err)
	}
	return 0, nil
}

// Init is what the first process of the namespaces does: it prepares their mounts in the folder dir, runs this program
// once more with args, buries orphans, and returns the exit code when that has ended.
func Init(dir string, args ...string) (int, error) {
	if err := prepareMounts(dir); err != nil {
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	child, err := os.StartProcess(self, append([]string{self}, args...), &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", self, err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() { // ends with this process
		for s := range signals {
			_ = child.Signal(s)
		}
	}()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for %s: %w", self, err)
		case pid == child.Pid && status.Exited():
			return status.ExitStatus(), nil
		case pid == child.Pid:
			return 128 + int(status.Signal()), nil
		}
	}
}

// files are those that are other ones in our mount namespace: what kubelet insists on setting in the kernel, which
// keeps its own values, and where names are resolved.
var files = map[string]string{
	"/proc/sys/vm/overcommit_memory": "1",
	"/proc/sys/kernel/panic":         "10",
	"/proc/sys/kernel/panic_on_oops": "1",
	"/etc/resolv.conf":               "nameserver " + nodeIP(1) + "\nsearch svc.cluster.local cluster.local\noptions ndots:5",
}

// written are the folders where programs insist on writing outside of what they are told to use.
var written = []string{"/run", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers"}

func prepareMounts(dir string) error {
	mount := func(source, target, kind string, flags uintptr) error {
		if err := unix.Mount(source, target, kind, flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", target, err)
		}
		return nil
	}
	// What is mounted here stays here; kubelet wants its mounts shared with those of containers.
	err := errors.Join(mount("", "/", "", unix.MS_REC|unix.MS_SLAVE), mount("", "/", "", unix.MS_REC|unix.MS_SHARED), mount("proc", "/proc", "proc", 0))
	if err != nil {
		return err
	}
	for _, f := range written {
		if err := errors.Join(os.MkdirAll(f, 0o755), mount("tmpfs", f, "tmpfs", 0)); err != nil {
			return err
		}
	}
	for path, value := range files {
		file := filepath.Join(dir, filepath.Base(path))
		if err := errors.Join(os.WriteFile(file, []byte(value+"\n"), 0o644), mount(file, path, "", unix.MS_BIND)); err != nil {
			return err
		}
	}
	return nil
}
