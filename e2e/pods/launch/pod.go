package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/ptr"

	"github.com/freshet-io/freshet/e2e/images"
	"github.com/freshet-io/freshet/e2e/pods"
)

const runnerName = "runner"

// runPod runs the tests in a pod, writes what they print and returns their exit code. Nothing of the pod is left.
func runPod(ctx context.Context, client kubernetes.Interface, references string, args []string) (code int, err error) {
	known, err := images.ParseReferences(references)
	if err != nil {
		return 1, err
	}
	image := known[images.Tests]
	if image == "" {
		return 1, fmt.Errorf("%s has no image %s", images.Variable, images.Tests)
	}
	ns, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "e2e-runner-", Labels: map[string]string{pods.PodSecurityLabel: "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return 1, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: runnerName}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: ns.Name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: runnerName, Namespace: ns.Name}},
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		unbound := client.RbacV1().ClusterRoleBindings().Delete(ctx, binding.Name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(unbound) {
			unbound = nil
		}
		err = errors.Join(err, unbound, client.CoreV1().Namespaces().Delete(ctx, ns.Name, metav1.DeleteOptions{}))
	}()
	if _, err := client.CoreV1().ServiceAccounts(ns.Name).Create(ctx, account, metav1.CreateOptions{}); err != nil {
		return 1, err
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return 1, err
	}
	if _, err := client.CoreV1().Pods(ns.Name).Create(ctx, runner(image, references, args), metav1.CreateOptions{}); err != nil {
		return 1, err
	}
	report("pod " + runnerName + " of namespace " + ns.Name + " runs the tests")
	return follow(ctx, client.CoreV1().Pods(ns.Name))
}

// runner is a pod with the tests.
func runner(image, references string, args []string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: runnerName, Labels: map[string]string{pods.RunnerLabel: "true"}},
		Spec: corev1.PodSpec{
			ServiceAccountName: runnerName, RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: runnerName, Image: image, Args: slices.Concat([]string{"-test.v"}, args),
				Env:                      []corev1.EnvVar{{Name: images.Variable, Value: references}},
				TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
				SecurityContext: &corev1.SecurityContext{
					RunAsNonRoot: ptr.To(true), AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
			}},
		},
	}
}

// follow writes the runner's output until it ends, and returns its exit code.
func follow(ctx context.Context, client typedcorev1.PodInterface) (int, error) {
	var since *metav1.Time // what came before it was written already
	for {
		if _, err := await(ctx, client, imagePatience, func(s corev1.ContainerState) bool { return s.Waiting == nil }); err != nil {
			return 1, err
		}
		now := metav1.Now()
		broken := write(ctx, client, since)
		if ctx.Err() != nil {
			return 1, fmt.Errorf("%w; the tests' own namespaces e2e-… are left", context.Cause(ctx))
		}
		// Whole output or not: the status follows it a moment later.
		state, err := await(ctx, client, statusPatience, func(s corev1.ContainerState) bool { return s.Terminated != nil })
		switch {
		case err == nil:
			return int(state.Terminated.ExitCode), broken
		case !wait.Interrupted(err):
			return 1, err
		}
		report("the output broke off, following it again")
		since = &now
	}
}

// How long the image may take, and the status of a container that has ended.
const (
	imagePatience  = 5 * time.Minute
	statusPatience = 10 * time.Second
)

// await returns the state of the runner's container when it is as it should be.
func await(ctx context.Context, client typedcorev1.PodInterface, patience time.Duration, done func(corev1.ContainerState) bool) (corev1.ContainerState, error) {
	var state corev1.ContainerState
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		pod, err := client.Get(ctx, runnerName, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{}}
		if len(pod.Status.ContainerStatuses) > 0 {
			state = pod.Status.ContainerStatuses[0].State
		}
		return done(state), nil
	})
	if err != nil && state.Waiting != nil {
		err = fmt.Errorf("the runner waits: %s %s: %w", state.Waiting.Reason, state.Waiting.Message, err)
	}
	return state, err
}

// write writes the runner's output to this program's, until the runner ends.
func write(ctx context.Context, client typedcorev1.PodInterface, since *metav1.Time) error {
	logs, err := client.GetLogs(runnerName, &corev1.PodLogOptions{Follow: true, SinceTime: since}).Stream(ctx)
	if err != nil {
		return err
	}
	defer logs.Close()
	_, err = io.Copy(os.Stdout, logs)
	return err
}
