package nodepool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// Reasons of the conditions Ready and Equipped.
const (
	ReasonNodesReady       = "NodesReady"
	ReasonNoNodes          = "NoNodes"
	ReasonNoNodesReady     = "NoNodesReady"
	ReasonEquipped         = "Equipped"
	ReasonNothingAsked     = "NothingAsked"
	ReasonHugePagesMissing = "HugePagesMissing"
	ReasonRDMAMissing      = "RDMAMissing"
)

// A status describes so many nodes, and a message names so many.
const (
	listed = 100
	named  = 3
)

func status(pool *v1alpha1.HTAPNodePool, nodes []corev1.Node, topologies map[string]topology) v1alpha1.HTAPNodePoolStatus {
	slices.SortFunc(nodes, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	s := v1alpha1.HTAPNodePoolStatus{ObservedGeneration: pool.Generation, Conditions: slices.Clone(pool.Status.Conditions)}
	ready := 0
	var lacking, decisive []want // decisive is what keeps pods off nodes that would take them otherwise
	for i := range nodes {
		wants := lacks(&nodes[i], &pool.Spec)
		lacking = append(lacking, wants...)
		why := keepsOff(&nodes[i], pool.Spec.Tolerations)
		if why == "" && len(wants) > 0 {
			why = wants[0].what
			decisive = append(decisive, wants[0])
		}
		if why == "" {
			ready++
		}
		if i < listed {
			n := describe(&nodes[i], &pool.Spec, topologies)
			n.Takes, n.Message = why == "", why
			s.Nodes = append(s.Nodes, n)
		}
	}
	s.Ready = fmt.Sprintf("%d/%d", ready, len(nodes))
	for _, c := range []metav1.Condition{readiness(s, ready, decisive), equipment(pool, len(nodes), lacking)} {
		c.ObservedGeneration = pool.Generation
		meta.SetStatusCondition(&s.Conditions, c)
	}
	return s
}

const noNodes = "no node has all labels of nodeSelector; label nodes, or correct it"

// readiness says whether a node takes pods.
func readiness(s v1alpha1.HTAPNodePoolStatus, ready int, decisive []want) metav1.Condition {
	const none = "no node of the pool takes pods: "
	c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case len(s.Nodes) == 0:
		c.Reason, c.Message = ReasonNoNodes, noNodes
	case ready == 0 && len(decisive) > 0:
		c.Reason, c.Message = decisive[0].reason, none+list(decisive)
	case ready == 0:
		c.Reason, c.Message = ReasonNoNodesReady, none+s.Nodes[0].Name+" "+s.Nodes[0].Message
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, ReasonNodesReady, s.Ready+" nodes take pods"
	}
	return c
}

// equipment says which nodes lack what each pod gets.
func equipment(pool *v1alpha1.HTAPNodePool, nodes int, lacking []want) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionEquipped, Status: metav1.ConditionTrue}
	switch {
	case nodes == 0:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ReasonNoNodes, noNodes
	case len(pool.Spec.Equipment()) == 0:
		c.Reason, c.Message = ReasonNothingAsked, "pods get CPU and memory only"
	case len(lacking) == 0:
		c.Reason, c.Message = ReasonEquipped, "every node offers what each pod gets"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, lacking[0].reason, list(lacking)
	}
	return c
}

// list names what the first nodes lack, and what to do about it.
func list(wants []want) string {
	var messages []string
	for _, w := range wants[:min(named, len(wants))] {
		messages = append(messages, w.node+" "+w.what)
	}
	more := ""
	if rest := len(wants) - named; rest > 0 {
		more = fmt.Sprintf(", and %d more", rest)
	}
	return strings.Join(messages, ", ") + more + "; " + wants[0].remedy
}

// want is what a node offers too little of.
type want struct{ node, reason, what, remedy string }

// lacks says what a node offers too little of for one pod.
func lacks(node *corev1.Node, spec *v1alpha1.HTAPNodePoolSpec) []want {
	short := func(name string) string {
		need, has := spec.Equipment()[corev1.ResourceName(name)], node.Status.Allocatable[corev1.ResourceName(name)]
		if has.Cmp(need) >= 0 {
			return ""
		}
		return fmt.Sprintf("offers %s of %s, and each pod gets %s", has.String(), name, need.String())
	}
	var wants []want
	if h := spec.HugePages; h != nil {
		if what := short(corev1.ResourceHugePagesPrefix + h.Size); what != "" {
			wants = append(wants, want{node.Name, ReasonHugePagesMissing, what, fmt.Sprintf(
				"set huge pages aside by the kernel's command line (hugepagesz=%s hugepages=…) and restart the node, or lower hugePages", strings.TrimSuffix(h.Size, "i"))})
		}
	}
	if d := spec.RDMA; d != nil {
		if what := short(d.ResourceName); what != "" {
			if node.Labels[rdmaLabel] == "true" {
				what += " (it has an RDMA adapter)"
			}
			wants = append(wants, want{node.Name, ReasonRDMAMissing, what, fmt.Sprintf("run a device plugin that offers %s, or correct rdma", d.ResourceName)})
		}
	}
	return wants
}

// keepsOff says why a node takes no pods with these tolerations; empty: it does.
func keepsOff(node *corev1.Node, tolerations []corev1.Toleration) string {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return "is not ready: " + cmp.Or(c.Message, c.Reason)
		}
	}
	for _, taint := range node.Spec.Taints {
		tolerates := func(t corev1.Toleration) bool { return tolerated(t, taint) }
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(tolerations, tolerates) {
			return fmt.Sprintf("has taint %s, which the pool does not tolerate", taint.ToString())
		}
	}
	return ""
}

// tolerated is the scheduler's rule for the operators Exists and Equal.
func tolerated(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == corev1.TolerationOpExists || t.Value == taint.Value
}
