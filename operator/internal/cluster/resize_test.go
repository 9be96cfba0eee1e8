package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/freshet-io/freshet/operator/internal/cockroach"
)

// nodesOf are live nodes of pods 0 to number-1; each change is one of its node.
func nodesOf(number int32, changes ...func(nodes map[int32]cockroach.Node)) map[int32]cockroach.Node {
	nodes := map[int32]cockroach.Node{}
	for i := range number {
		nodes[i] = cockroach.Node{ID: int(i) + 11, Live: true, Replicas: 100}
	}
	for _, change := range changes {
		change(nodes)
	}
	return nodes
}

// without takes out the nodes of pods, which are decommissioned or have never started.
func without(numbers ...int32) func(map[int32]cockroach.Node) {
	return func(nodes map[int32]cockroach.Node) {
		for _, n := range numbers {
			delete(nodes, n)
		}
	}
}

func draining(number int32) func(map[int32]cockroach.Node) {
	return func(nodes map[int32]cockroach.Node) {
		n := nodes[number]
		n.Draining = true
		nodes[number] = n
	}
}

func TestResize_derivesTheNextStep(t *testing.T) {
	for _, c := range []struct {
		name                string
		want, have, leaving int32
		nodes               map[int32]cockroach.Node
		next                move
	}{
		{"more are wanted", 5, 3, 0, nodesOf(3), addPods},
		{"fewer are wanted", 3, 5, 0, nodesOf(5), beginLeaving},
		{"fewer are wanted, and some have never started", 3, 5, 0, nodesOf(3), beginLeaving},
		{"replicas move", 3, 5, 3, nodesOf(5), decommission},
		{"one of two is decommissioned", 3, 5, 3, nodesOf(5, without(4)), decommission},
		{"both are decommissioned", 3, 5, 3, nodesOf(3), removePods},
		{"the pods are gone", 3, 3, 3, nodesOf(3), removePods},
		{"still fewer are wanted meanwhile", 3, 6, 5, nodesOf(6), decommission},
		{"all are wanted again", 5, 5, 3, nodesOf(5), keepNodes},
		{"some are wanted again", 4, 5, 3, nodesOf(5), keepNodes},
		{"wanted again, but one is decommissioned", 5, 5, 3, nodesOf(5, without(4)), decommission},
		{"wanted again, but one drains for its end", 5, 5, 3, nodesOf(5, draining(4)), decommission},
		{"wanted again, but all are decommissioned", 5, 5, 3, nodesOf(3), removePods},
		{"wanted again, but their pods are gone", 5, 3, 3, nodesOf(3), removePods},
	} {
		z := resize{want: c.want, have: c.have, leaving: c.leaving, nodes: c.nodes}
		if got := z.next(); got != c.next {
			t.Errorf("%s: step %d, want %d", c.name, got, c.next)
		}
	}
}

func TestResize_namesTheNodesOfEachStep(t *testing.T) {
	nodes := nodesOf(6, func(nodes map[int32]cockroach.Node) {
		for _, n := range []int32{3, 4, 5} {
			nodes[n] = cockroach.Node{ID: nodes[n].ID, Leaving: true, Live: n != 5, Replicas: int(n)}
		}
	})
	z := resize{want: 5, have: 6, leaving: 3, nodes: nodes}
	for what, got := range map[string][]int{"go": z.ids(z.from(3)), "are down": z.ids(z.down()), "are taken back": z.ids(z.back())} {
		want := map[string][]int{"go": {14, 15, 16}, "are down": {16}, "are taken back": {14, 15}}[what]
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("that %s (-want +got):\n%s", what, diff)
		}
	}
	if got := pods("shop-oltp", z.down()); got != "shop-oltp-5" {
		t.Errorf("pods %s", got)
	}
	if got := z.replicas(z.from(3)); got != 12 {
		t.Errorf("%d replicas go, want 12", got)
	}
}

func TestAtMost_isAPowerOfTwo(t *testing.T) {
	for of, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 4, 256: 256, 300: 512} {
		if got := atMost(of); got != want {
			t.Errorf("%d replicas are said to be %d, want %d", of, got, want)
		}
	}
}

func TestFailure_isWhatCockroachSaidWithoutNumbersThatChange(t *testing.T) {
	said := "ranges blocking decommission detected\nn4 has 44 replicas blocked with error: \"0 of 3 live stores are able to take a new replica\"\n" +
		"n5 has 27 replicas blocked with error: \"another\"\n\nERROR: Cannot decommission nodes.\n"
	ended := func(code int32, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Message: message}}
	}
	for want, status := range map[string]corev1.ContainerStatus{
		"": {State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		"0 of 3 live stores are able to take a new replica": {LastTerminationState: ended(1, said)},
		"the Job's program ends with code 1":                {State: ended(1, "ERROR: failed to connect to the node")},
	} {
		pod := corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{status}}}
		if got := failure([]corev1.Pod{pod}); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
	if got := failure([]corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: ended(0, "")}}}}}); got != "" {
		t.Errorf("success is a failure: %s", got)
	}
}
