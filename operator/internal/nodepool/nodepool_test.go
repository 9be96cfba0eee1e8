package nodepool

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
