package nodepool

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
			{Name: "a", Takes: true},
			{Name: "b", Message: "has taint dedicated=gpu:NoExecute, which the pool does not tolerate"},
			{Name: "c", Message: "is not ready: NodeStatusUnknown"},
		}},
		{"none takes pods", []corev1.Node{lost}, "0/1", ReasonNoNodesReady, []v1alpha1.NodeStatus{{Name: "c", Message: "is not ready: NodeStatusUnknown"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := status(pool, c.nodes)
			if diff := cmp.Diff(c.want, got.Nodes); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			if condition := meta.FindStatusCondition(got.Conditions, v1alpha1.ConditionReady); condition.Reason != c.reason || got.Ready != c.ready {
				t.Errorf("got %s, %s: %s; want %s, %s", got.Ready, condition.Reason, condition.Message, c.ready, c.reason)
			}
		})
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
