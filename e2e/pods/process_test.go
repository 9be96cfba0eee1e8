//go:build e2e

package pods

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// signal signals the processes of a pod that have one of the names, as the kernel cuts them off. They are processes of this machine.
func (w *world) signal(pod *corev1.Pod, s syscall.Signal, names ...string) {
	w.t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		w.t.Fatal(err)
	}
	signalled := 0
	for _, file := range files {
		pid, name := member(file, string(pod.UID))
		if !slices.Contains(names, name) {
			continue
		}
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) { // a process ends with the one that started it
			w.t.Fatalf("signal %s of pod %s: %v", name, pod.Name, err)
		}
		signalled++
	}
	if signalled == 0 {
		w.t.Fatalf("no process %v of pod %s is on this machine: the bare cluster's would be", names, pod.Name)
	}
}

// member returns id and name of a process by its file /proc/…/cgroup, if it belongs to a pod.
func member(file, podUID string) (pid int, name string) {
	groups, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(groups), "pod"+podUID) {
		return 0, "" // it may have ended
	}
	dir := filepath.Dir(file)
	command, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return 0, ""
	}
	if pid, err = strconv.Atoi(filepath.Base(dir)); err != nil {
		return 0, ""
	}
	return pid, strings.TrimSpace(string(command))
}

// kill kills a pod's processes as kill -9 does, and waits until kubelet has started them again.
func (w *world) kill(pod *corev1.Pod, names ...string) {
	w.t.Helper()
	before := restarts(pod)
	w.signal(pod, syscall.SIGKILL, names...)
	w.eventually("restart of "+pod.Name, func(context.Context) error {
		now, err := w.find(pod.Namespace, pod.Name)
		if err == nil && restarts(now) < before+int32(len(names)) {
			err = fmt.Errorf("%d restarts", restarts(now)-before)
		}
		return err
	})
}

func restarts(pod *corev1.Pod) (n int32) {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		n += c.RestartCount
	}
	return n
}
