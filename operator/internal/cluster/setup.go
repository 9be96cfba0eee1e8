package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// workers is how many clusters are looked at simultaneously: most of the time of each is spent waiting for its units and database.
const workers = 16

// Setup adds the reconciler to a manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	// What only the operator itself writes wakes nobody: a cluster's status.
	spec := builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))
	c, err := ctrl.NewControllerManagedBy(mgr).
		Named("htapcluster").
		For(&v1alpha1.HTAPCluster{}, spec).
		Owns(&appsv1.StatefulSet{}).
		Owns(&corev1.Service{}).
		Owns(&corev1.ConfigMap{}).
		Owns(&batchv1.Job{}).
		Owns(&batchv1.CronJob{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Owns(&networkingv1.NetworkPolicy{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(clusterByLabel)).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(clusterByLabel)).
		Watches(&v1alpha1.HTAPNodePool{}, handler.EnqueueRequestsFromMapFunc(r.clustersOfPool), spec).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: backoff()}).
		Build(r)
	if err != nil {
		return fmt.Errorf("set up the controller of HTAPClusters: %w", err)
	}
	r.late = &lateWatches{begun: map[schema.GroupVersionKind]bool{}, watch: func(o client.Object) error {
		return c.Watch(source.Kind(mgr.GetCache(), o, handler.EnqueueRequestsFromMapFunc(clusterByLabel)))
	}}
	return nil
}

// backoff is for how long a cluster with which something failed is left alone: longer and longer, and no longer than one that is well. What is in the way
// need not be watched, as a quota, or an object of somebody else's.
func backoff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, whenReady)
}

// lateWatches are watches on kinds that may be installed after the operator. A watch on a kind that is not there would fail for ever.
type lateWatches struct {
	mu    sync.Mutex
	begun map[schema.GroupVersionKind]bool
	watch func(client.Object) error
}

// ensure watches the objects of clusters of a kind, from the first call on. They are known by their label: one that outlives its cluster
// has no owner.
func (w *lateWatches) ensure(kind schema.GroupVersionKind) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun[kind] {
		return nil
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	if err := w.watch(o); err != nil {
		return fmt.Errorf("watch %s: %w", kind.Kind, err)
	}
	w.begun[kind] = true
	return nil
}

func clusterByLabel(_ context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[manifest.ClusterLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// clustersOfPool lists the clusters that refer to a pool.
func (r *Reconciler) clustersOfPool(ctx context.Context, pool client.Object) []reconcile.Request {
	var list v1alpha1.HTAPClusterList
	if err := r.Client.List(ctx, &list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list HTAPClusters", "pool", pool.GetName())
		return nil // each is looked at again soon
	}
	refers := func(ref *v1alpha1.NodePoolReference) bool { return ref != nil && ref.Name == pool.GetName() }
	var out []reconcile.Request
	for i := range list.Items {
		c := &list.Items[i]
		if oltp, _ := oltpPool(c); refers(c.Spec.Columnar.NodePoolRef) || refers(oltp) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(c)})
		}
	}
	return out
}
