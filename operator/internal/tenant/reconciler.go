package tenant

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/freshet-io/freshet/gateway/shares"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/apply"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

// Units asks units how they do; see [unit.Client].
type Units interface {
	Status(ctx context.Context, ip string) (unit.Status, error)
}

// again is when a cluster's units are asked again while one of them does not use its tenants yet.
const again = time.Second

// workers is how many clusters are looked at simultaneously: most of the time of each is spent waiting for its units.
const workers = 4

// Reconciler brings the tenants of HTAPClusters into force. What it reconciles is a cluster, which may not exist.
type Reconciler struct {
	Client client.Client
	Units  Units
}

// Setup adds the reconciler to a manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	spec := builder.WithPredicates(predicate.GenerationChangedPredicate{}) // its own status wakes nobody
	err := ctrl.NewControllerManagedBy(mgr).
		Named("htaptenant").
		For(&v1alpha1.HTAPCluster{}, spec).
		Owns(&corev1.ConfigMap{}).
		Watches(&v1alpha1.HTAPTenant{}, handler.EnqueueRequestsFromMapFunc(clusterOfTenant), spec).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(clusterOfPod)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of HTAPTenants: %w", err)
	}
	return nil
}

func clusterOfTenant(_ context.Context, obj client.Object) []reconcile.Request {
	t := obj.(*v1alpha1.HTAPTenant)
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: t.Namespace, Name: t.Spec.ClusterRef.Name}}}
}

func clusterOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[manifest.ClusterLabel]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// Reconcile brings a cluster's tenants into force and writes down how far that is.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	// 1. Find the tenants, and who of them has which users.
	verdicts, err := r.tenants(ctx, request)
	if err != nil {
		return ctrl.Result{}, err
	}
	cluster := &v1alpha1.HTAPCluster{}
	err = r.Client.Get(ctx, request.NamespacedName, cluster)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("read HTAPCluster %s: %w", request, err)
	}
	if err != nil || !cluster.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.orphan(ctx, request, verdicts)
	}
	// 2. Write the file that gateways read. A cluster that never had tenants has none.
	digest, err := r.write(ctx, cluster, verdicts)
	if err != nil || digest == "" {
		return ctrl.Result{}, err
	}
	// 3. See that the units use it.
	units, err := r.spread(ctx, cluster, digest)
	if err != nil {
		return ctrl.Result{}, err
	}
	// 4. Say so.
	if err := r.conclude(ctx, verdicts, units); err != nil {
		return ctrl.Result{}, err
	}
	if units.applied < units.ready {
		return ctrl.Result{RequeueAfter: again}, nil
	}
	return ctrl.Result{}, nil
}

// tenants lists the tenants of a cluster and judges them.
func (r *Reconciler) tenants(ctx context.Context, request ctrl.Request) ([]verdict, error) {
	var list v1alpha1.HTAPTenantList
	if err := r.Client.List(ctx, &list, client.InNamespace(request.Namespace)); err != nil {
		return nil, fmt.Errorf("list HTAPTenants: %w", err)
	}
	var own []v1alpha1.HTAPTenant
	for _, t := range list.Items {
		if t.Spec.ClusterRef.Name == request.Name && t.DeletionTimestamp.IsZero() {
			own = append(own, t)
		}
	}
	return judge(own), nil
}

// orphan says of the tenants of a cluster that there is none.
func (r *Reconciler) orphan(ctx context.Context, request ctrl.Request, verdicts []verdict) error {
	for i := range verdicts {
		verdicts[i].reason = ReasonClusterNotFound
		verdicts[i].message = fmt.Sprintf("HTAPCluster %q does not exist in this namespace, or is being deleted; create it, or delete the tenant", request.Name)
	}
	return r.conclude(ctx, verdicts, progress{})
}

// write writes the file of tenants and returns its digest; empty: there is none, and needs to be none.
func (r *Reconciler) write(ctx context.Context, cluster *v1alpha1.HTAPCluster, verdicts []verdict) (string, error) {
	if len(verdicts) == 0 {
		err := r.Client.Get(ctx, types.NamespacedName{Namespace: cluster.Namespace, Name: manifest.TenantsName(cluster)}, &corev1.ConfigMap{})
		if apierrors.IsNotFound(err) {
			return "", nil
		}
	}
	content, err := render(verdicts)
	if err != nil {
		return "", err
	}
	file := manifest.Cluster{HTAPCluster: cluster}.Tenants(content)
	if err := apply.New(r.Client).Controlled(ctx, cluster, manifest.ClusterLabel, file); err != nil {
		return "", err
	}
	return shares.Digest(content), nil
}

// conclude writes the status of every tenant whose status changed.
func (r *Reconciler) conclude(ctx context.Context, verdicts []verdict, units progress) error {
	for _, v := range verdicts {
		after := v.tenant.DeepCopy()
		after.Status = v.conclude(units)
		if equality.Semantic.DeepEqual(v.tenant.Status, after.Status) {
			continue
		}
		if err := r.Client.Status().Patch(ctx, after, client.MergeFrom(v.tenant), apply.Owner); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("write status of HTAPTenant %s/%s: %w", after.Namespace, after.Name, err)
		}
	}
	return nil
}
