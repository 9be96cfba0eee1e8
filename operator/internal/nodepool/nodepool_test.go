package nodepool

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// node returns a ready node with taints.
func node(name string, taints ...corev1.Taint) corev1.Node {
	n := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

func TestStatus_saysWhatKeepsPodsOff(t *testing.T) {
	olap := corev1.Taint{Key: "dedicated", Value: "olap", Effect: corev1.TaintEffectNoSchedule}
	other := corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}
	soft := corev1.Taint{Key: "old", Effect: corev1.TaintEffectPreferNoSchedule}
	lost := node("c")
	lost.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown"}
	pool := &v1alpha1.HTAPNodePool{Spec: v1alpha1.HTAPNodePoolSpec{Tolerations: []corev1.Toleration{{Key: "dedicated", Value: "olap"}}}}
	for _, c := range []struct {
		name          string
		nodes         []corev1.Node
		ready, reason string
		want          []v1alpha1.NodeStatus
	}{
		{"no nodes", nil, "0/0", ReasonNoNodes, nil},
		{"some take pods", []corev1.Node{lost, node("b", other), node("a", olap, soft)}, "1/3", ReasonNodesReady, []v1alpha1.NodeStatus{
			{Name: "a", Takes: true, NUMA: "unknown"},
			{Name: "b", Message: "has taint dedicated=gpu:NoExecute, which the pool does not tolerate", NUMA: "unknown"},
			{Name: "c", Message: "is not ready: NodeStatusUnknown", NUMA: "unknown"},
		}},
		{"none takes pods", []corev1.Node{lost}, "0/1", ReasonNoNodesReady, []v1alpha1.NodeStatus{{Name: "c", Message: "is not ready: NodeStatusUnknown", NUMA: "unknown"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := status(pool, c.nodes, nil)
			if diff := cmp.Diff(c.want, got.Nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if condition := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady); condition.Reason != c.reason || got.Ready != c.ready {
				t.Errorf("got %s, %s: %s; want %s, %s", got.Ready, condition.Reason, condition.Message, c.ready, c.reason)
			}
		})
	}
}

// offering returns a ready node that offers resources: name=amount.
func offering(name string, offers ...string) corev1.Node {
	n := node(name)
	n.Status.Allocatable = corev1.ResourceList{}
	for _, o := range offers {
		what, amount, _ := strings.Cut(o, "=")
		n.Status.Allocatable[corev1.ResourceName(what)] = resource.MustParse(amount)
	}
	return n
}

func TestStatus_saysWhatNodesLack(t *testing.T) {
	const pagesRemedy = "; set huge pages aside by the kernel's command line (hugepagesz=2M hugepages=…) and restart the node, or lower hugePages"
	const deviceRemedy = "; run a device plugin that offers rdma/hca, or correct rdma"
	spec := v1alpha1.HTAPNodePoolSpec{
		HugePages: &v1alpha1.HugePagesSpec{Size: "2Mi", Amount: resource.MustParse("2Gi")},
		RDMA:      &v1alpha1.RDMASpec{ResourceName: "rdma/hca", Count: 2},
	}
	adapter := offering("c", "hugepages-2Mi=2Gi")
	adapter.Labels = map[string]string{rdmaLabel: "true"}
	lost := offering("d")
	lost.Status.Conditions[0].Status, lost.Status.Conditions[0].Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
	full, few, none := offering("a", "hugepages-2Mi=4Gi", "rdma/hca=8"), offering("b", "hugepages-2Mi=1Gi", "rdma/hca=8"), offering("b")
	for _, c := range []struct {
		name            string
		nodes           []corev1.Node
		ready, equipped string // status, reason and message
	}{
		{"no nodes", nil, "False NoNodes: " + noNodes, "Unknown NoNodes: " + noNodes},
		{"all have it", []corev1.Node{full}, "True NodesReady: 1/1 nodes take pods", "True Equipped: every node offers what each pod gets"},
		{"one has less", []corev1.Node{full, few}, "True NodesReady: 1/2 nodes take pods",
			"False HugePagesMissing: b offers 1Gi of hugepages-2Mi, and each pod gets 2Gi" + pagesRemedy},
		{"an adapter without a plugin", []corev1.Node{adapter, lost},
			"False RDMAMissing: no node of the pool takes pods: c offers 0 of rdma/hca, and each pod gets 2 (it has an RDMA adapter)" + deviceRemedy,
			"False RDMAMissing: c offers 0 of rdma/hca, and each pod gets 2 (it has an RDMA adapter), d offers 0 of hugepages-2Mi, and each pod gets 2Gi, " +
				"d offers 0 of rdma/hca, and each pod gets 2" + deviceRemedy},
		{"many have nothing", []corev1.Node{none, none, none}, "False HugePagesMissing: no node of the pool takes pods: b offers 0 of hugepages-2Mi, and each pod gets 2Gi, " +
			"b offers 0 of hugepages-2Mi, and each pod gets 2Gi, b offers 0 of hugepages-2Mi, and each pod gets 2Gi" + pagesRemedy,
			"False HugePagesMissing: b offers 0 of hugepages-2Mi, and each pod gets 2Gi, b offers 0 of rdma/hca, and each pod gets 2, " +
				"b offers 0 of hugepages-2Mi, and each pod gets 2Gi, and 3 more" + pagesRemedy},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := status(&v1alpha1.HTAPNodePool{Spec: spec}, c.nodes, nil)
			for condition, want := range map[string]string{v1alpha1.ConditionReady: c.ready, v1alpha1.ConditionEquipped: c.equipped} {
				have := meta.FindStatusCondition(s.Conditions, condition)
				if diff := cmp.Diff(want, fmt.Sprintf("%s %s: %s", have.Status, have.Reason, have.Message)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", condition, diff)
				}
			}
		})
	}
	plain := status(&v1alpha1.HTAPNodePool{}, []corev1.Node{full}, nil)
	if c := meta.FindStatusCondition(plain.Conditions, v1alpha1.ConditionEquipped); c.Status != metav1.ConditionTrue || c.Reason != ReasonNothingAsked {
		t.Errorf("a pool that asks for nothing is %+v", c)
	}
}

func TestStatus_describesNodes(t *testing.T) {
	quantity := resource.MustParse
	n := offering("a", "cpu=32", "memory=120Gi", "hugepages-1Gi=0", "hugepages-2Mi=4Gi", "rdma/hca=8", "vendor.com/nic=1", "nvidia.com/gpu=2")
	n.Status.NodeInfo.Architecture = "arm64"
	n.Labels = map[string]string{corev1.LabelTopologyZone: "z1", numaLabel: "true"}
	want := v1alpha1.NodeStatus{Name: "a", Architecture: "arm64", Zone: "z1", NUMA: "several", Allocatable: v1alpha1.NodeResources{
		CPU: quantity("32"), Memory: quantity("120Gi"), HugePages: map[string]resource.Quantity{"1Gi": quantity("0"), "2Mi": quantity("4Gi")},
		RDMA: map[string]resource.Quantity{"rdma/hca": quantity("8"), "vendor.com/nic": quantity("1")},
	}}
	spec := &v1alpha1.HTAPNodePoolSpec{RDMA: &v1alpha1.RDMASpec{ResourceName: "vendor.com/nic", Count: 1}}
	if diff := cmp.Diff(want, describe(&n, spec, nil)); diff != "" {
		t.Errorf("by labels (-want +got):\n%s", diff)
	}
	two := topology{TopologyPolicies: []string{"SingleNUMANodeContainerLevel"}, Zones: []zone{{Name: "node-0", Type: "Node"}, {Name: "node-1", Type: "Node"}, {Name: "socket-0", Type: "Socket"}}}
	want.NUMA, want.TopologyPolicy, want.NUMANodes = "2", "SingleNUMANodeContainerLevel", []v1alpha1.NUMANodeStatus{{Name: "node-0"}, {Name: "node-1"}}
	if diff := cmp.Diff(want, describe(&n, spec, map[string]topology{"a": two})); diff != "" {
		t.Errorf("by a NodeResourceTopology (-want +got):\n%s", diff)
	}
	for label, numa := range map[string]string{"feature.node.kubernetes.io/cpu-hardware_multithreading": "single", "pool": "unknown"} {
		n.Labels = map[string]string{label: "true"}
		if got := describe(&n, spec, nil).NUMA; got != numa {
			t.Errorf("with label %s, NUMA is %s, want %s", label, got, numa)
		}
	}
}

func TestStatus_isBounded(t *testing.T) {
	big := topology{}
	var offers []string
	for i := range 20 {
		big.Zones = append(big.Zones, zone{Name: fmt.Sprint("node-", i), Type: "Node"})
		offers = append(offers, fmt.Sprintf("rdma/hca-%02d=1", i))
	}
	var nodes []corev1.Node
	topologies := map[string]topology{}
	for i := range 150 {
		n := offering(fmt.Sprintf("n%03d", i), offers...)
		nodes, topologies[n.Name] = append(nodes, n), big
	}
	s := status(&v1alpha1.HTAPNodePool{}, nodes, topologies)
	if first := s.Nodes[0]; len(s.Nodes) != listed || len(first.NUMANodes) != most || len(first.Allocatable.RDMA) != most || first.NUMA != "20" {
		t.Errorf("%d nodes, the first with %d NUMA nodes of %s and %d devices", len(s.Nodes), len(first.NUMANodes), first.NUMA, len(first.Allocatable.RDMA))
	}
}

func TestChanged_ignoresHeartbeats(t *testing.T) {
	at := func(seconds int64) metav1.Time { return metav1.Unix(seconds, 0) }
	for _, c := range []struct {
		name   string
		change func(n *corev1.Node)
		want   bool
	}{
		{"heartbeat", func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = at(300) }, false},
		{"label", func(n *corev1.Node) { n.Labels = map[string]string{"pool": "olap"} }, true},
		{"taint", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "dedicated"}} }, true},
		{"readiness", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := node("a")
			before.ResourceVersion = "1"
			after := before.DeepCopy()
			after.ResourceVersion = "2"
			c.change(after)
			if got := changed(event.UpdateEvent{ObjectOld: &before, ObjectNew: after}); got != c.want {
				t.Errorf("changed: %v, want %v", got, c.want)
			}
		})
	}
}

func TestSlim_keepsWhatPoolsAreAbout(t *testing.T) {
	want := node("a", corev1.Taint{Key: "dedicated"})
	fat := want.DeepCopy()
	fat.Status.Images = []corev1.ContainerImage{{Names: []string{"image:1"}}}
	fat.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet"}}
	got, err := Slim(fat)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("node (-want +got):\n%s", diff)
	}
}
