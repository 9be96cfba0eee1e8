//go:build e2e

package pods

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

//go:embed testdata/signal.sh
var signalScript string

// signal signals the processes of a pod that have one of the names, as the kernel cuts them off. It takes a pod on the same node that sees the
// node's processes.
func (w *world) signal(pod *corev1.Pod, s syscall.Signal, names ...string) {
	w.t.Helper()
	hand := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "signal-", Namespace: w.privileged},
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, HostPID: true, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: ptr.To(int64(0)),
			Containers: []corev1.Container{{
				Name: "signal", Image: w.images["postgres"], // it has a shell
				Command:                  append([]string{"sh", "-euc", signalScript, "signal", strconv.Itoa(int(s)), string(pod.UID)}, names...),
				SecurityContext:          &corev1.SecurityContext{Privileged: ptr.To(true), RunAsUser: ptr.To(int64(0))},
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			}},
		},
	}
	if err := w.Create(w.t.Context(), hand); err != nil {
		w.t.Fatal(err)
	}
	var failed error
	w.eventually("a signal for "+pod.Name, func(ctx context.Context) error {
		if err := w.Get(ctx, client.ObjectKeyFromObject(hand), hand); err != nil {
			return err
		}
		switch hand.Status.Phase {
		case corev1.PodSucceeded:
			return nil
		case corev1.PodFailed:
			failed = fmt.Errorf("%+v", hand.Status.ContainerStatuses)
			return nil
		}
		return fmt.Errorf("%s: %+v", hand.Status.Phase, hand.Status.ContainerStatuses)
	})
	if err := errors.Join(failed, w.Delete(w.t.Context(), hand)); err != nil {
		w.t.Fatalf("signal %v of pod %s: %v", names, pod.Name, err)
	}
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
