package nodepool

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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

// lookAgain is how often pools are looked at when nothing that is watched changes: NodeResourceTopologies, which need not be installed, are not.
const lookAgain = 5 * time.Minute

// Reconciler keeps the status of HTAPNodePools.
type Reconciler struct {
	Client client.Client
	// Reader reads what is in no cache.
	Reader client.Reader
}

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
	topologies, err := r.topologies(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	again := ctrl.Result{RequeueAfter: wait.Jitter(lookAgain, 0.2)}
	after := pool.DeepCopy()
	after.Status = status(&pool, nodes.Items, topologies)
	if equality.Semantic.DeepEqual(pool.Status, after.Status) {
		return again, nil
	}
	if err := r.Client.Status().Patch(ctx, after, client.MergeFrom(&pool), apply.Owner); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("write status of HTAPNodePool %q: %w", pool.Name, err)
	}
	return again, nil
}
