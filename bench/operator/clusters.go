package operator

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// createNamespaces comes before what is measured.
func (w *world) createNamespaces(ctx context.Context) error {
	for i := range w.o.Namespaces {
		if err := w.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace(i)}}); err != nil {
			return err
		}
	}
	return nil
}

// namespace is that of a cluster, by its number.
func (w *world) namespace(i int) string { return fmt.Sprintf("team-%03d", i%w.o.Namespaces) }

// createClusters creates all clusters, and the connection Secret of each.
func (w *world) createClusters(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range w.o.Clusters {
		group.Go(func() error {
			place := metav1.ObjectMeta{Name: fmt.Sprintf("shop-%03d", i), Namespace: w.namespace(i)}
			c := &v1alpha1.HTAPCluster{ObjectMeta: place}
			place.Name += "-db"
			secret := &corev1.Secret{ObjectMeta: place, StringData: map[string]string{"uri": w.postgres.URL("postgres")}}
			c.Spec.OLTP.Engine = v1alpha1.EngineExternal
			c.Spec.OLTP.External = &v1alpha1.ExternalSpec{ConnectionSecretRef: v1alpha1.SecretReference{Name: secret.Name}}
			c.Spec.Columnar.Units = int32(w.o.Units)
			c.Spec.Columnar.NodePoolRef = &v1alpha1.NodePoolReference{Name: "olap"}
			if err := w.client.Create(ctx, secret); err != nil {
				return err
			}
			return w.client.Create(ctx, c)
		})
	}
	return group.Wait()
}

// awaitReady waits until all clusters are.
func (w *world) awaitReady(ctx context.Context) error {
	return poll(ctx, func() (string, error) {
		var list v1alpha1.HTAPClusterList
		if err := w.client.List(ctx, &list); err != nil {
			return "", err
		}
		ready, example := 0, ""
		for i := range list.Items {
			c := &list.Items[i]
			if meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) {
				ready++
			} else if state := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady); state != nil {
				example = fmt.Sprintf("; %s/%s: %s: %s", c.Namespace, c.Name, state.Reason, state.Message)
			}
		}
		if ready == w.o.Clusters {
			return "", nil
		}
		return fmt.Sprintf("%d of %d clusters are ready%s", ready, w.o.Clusters, example), nil
	})
}

// awaitPools waits until the pools' statuses count all nodes.
func (w *world) awaitPools(ctx context.Context) error {
	return poll(ctx, func() (string, error) {
		var list v1alpha1.HTAPNodePoolList
		if err := w.client.List(ctx, &list); err != nil {
			return "", err
		}
		want := fmt.Sprintf("%d/%[1]d", w.o.Nodes/len(pools))
		for i := range list.Items {
			if have := list.Items[i].Status.Ready; have != want {
				return fmt.Sprintf("node pool %s says %q, not %q", list.Items[i].Name, have, want), nil
			}
		}
		return "", nil
	})
}
