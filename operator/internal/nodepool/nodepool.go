// Package nodepool says of HTAPNodePools which nodes they have, and what keeps pods off them.
//
// Invariant: a pool whose nodes do not change causes no write.
package nodepool

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/apply"
)

// Reasons of the condition Ready.
const (
	ReasonNodesReady   = "NodesReady"
	ReasonNoNodes      = "NoNodes"
	ReasonNoNodesReady = "NoNodesReady"
)

// listed is how many nodes a status names.
const listed = 100

// Reconciler keeps the status of HTAPNodePools.
type Reconciler struct{ Client client.Client }

// Setup adds the reconciler to a manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("htapnodepool").
		For(&v1alpha1.HTAPNodePool{}).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.all), builder.WithPredicates(predicate.Funcs{UpdateFunc: changed})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of HTAPNodePools: %w", err)
	}
	return nil
}

// changed says whether a node is another than before, but for its heartbeat: of a thousand nodes one beats every third of a second.
func changed(e event.UpdateEvent) bool {
	lasting := func(obj client.Object) *corev1.Node {
		node := obj.(*corev1.Node).DeepCopy()
		node.ResourceVersion = ""
		for i := range node.Status.Conditions {
			node.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
		return node
	}
	return !equality.Semantic.DeepEqual(lasting(e.ObjectOld), lasting(e.ObjectNew))
}

// Slim takes out of a node what nobody here reads and what is most of it: the list of images that it has.
func Slim(obj any) (any, error) {
	if node, ok := obj.(*corev1.Node); ok {
		node.ManagedFields, node.Status.Images = nil, nil
	}
	return obj, nil
}

// all lists every pool: which of them a node belonged to before a change of its labels is not known.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	var pools v1alpha1.HTAPNodePoolList
	if err := r.Client.List(ctx, &pools); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list HTAPNodePools")
		return nil // a cache that is filled does not fail
	}
	var out []reconcile.Request
	for i := range pools.Items {
		out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&pools.Items[i])})
	}
	return out
}

// Reconcile writes down which nodes a pool has.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var pool v1alpha1.HTAPNodePool
	if err := r.Client.Get(ctx, request.NamespacedName, &pool); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var nodes corev1.NodeList
	if err := r.Client.List(ctx, &nodes, client.MatchingLabels(pool.Spec.NodeSelector)); err != nil {
		return ctrl.Result{}, fmt.Errorf("list nodes of HTAPNodePool %q: %w", pool.Name, err)
	}
	after := pool.DeepCopy()
	after.Status = status(&pool, nodes.Items)
	if equality.Semantic.DeepEqual(pool.Status, after.Status) {
		return ctrl.Result{}, nil
	}
	if err := r.Client.Status().Patch(ctx, after, client.MergeFrom(&pool), apply.Owner); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("write status of HTAPNodePool %q: %w", pool.Name, err)
	}
	return ctrl.Result{}, nil
}

func status(pool *v1alpha1.HTAPNodePool, nodes []corev1.Node) v1alpha1.HTAPNodePoolStatus {
	slices.SortFunc(nodes, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	s := v1alpha1.HTAPNodePoolStatus{ObservedGeneration: pool.Generation, Conditions: slices.Clone(pool.Status.Conditions)}
	ready := 0
	for i := range nodes {
		why := keepsOff(&nodes[i], pool.Spec.Tolerations)
		if why == "" {
			ready++
		}
		if i < listed {
			s.Nodes = append(s.Nodes, v1alpha1.NodeStatus{Name: nodes[i].Name, Takes: why == "", Message: why})
		}
	}
	s.Ready = fmt.Sprintf("%d/%d", ready, len(nodes))
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: pool.Generation}
	switch {
	case len(nodes) == 0:
		condition.Reason, condition.Message = ReasonNoNodes, "no node has all labels of nodeSelector; label nodes, or correct it"
	case ready == 0:
		condition.Reason, condition.Message = ReasonNoNodesReady, "no node of the pool takes pods: "+s.Nodes[0].Name+" "+s.Nodes[0].Message
	default:
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, ReasonNodesReady, s.Ready+" nodes take pods"
	}
	meta.SetStatusCondition(&s.Conditions, condition)
	return s
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
