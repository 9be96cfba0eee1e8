//go:build e2e

package pods

import (
	"context"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

func TestCluster_scalesAndRollsWithoutAFailedQuery(t *testing.T) {
	const leastQueries = 2000
	w := newWorld(t)
	w.start(builtin(1))
	clients := w.startCustomers(w.url())
	var c v1alpha1.HTAPCluster

	began := time.Now()
	w.change(&c, "shop", func() { c.Spec.Columnar.Units = 3 })
	w.awaitReady(3)
	t.Logf("1 to 3 units: %.1f s", time.Since(began).Seconds())

	began = time.Now()
	before := clients.queries.Load()
	image := w.images["freshet-again"]
	w.change(&c, "shop", func() { c.Spec.Gateway.Image = image })
	w.eventually("the new image in all units", func(context.Context) error {
		var set appsv1.StatefulSet
		if err := w.get("shop-unit", &set); err != nil {
			return err
		}
		if got := set.Spec.Template.Spec.Containers[0].Image; got != image || set.Status.ObservedGeneration != set.Generation ||
			set.Status.UpdatedReplicas != 3 || set.Status.ReadyReplicas != 3 ||
			set.Status.CurrentRevision != set.Status.UpdateRevision {
			return fmt.Errorf("image %s, status %+v", got, set.Status)
		}
		return nil
	})
	w.awaitReady(3)
	w.eventually("enough queries", func(context.Context) error {
		if n := clients.queries.Load() - before; n < leastQueries {
			return fmt.Errorf("%d queries since the change began", n)
		}
		return nil
	})
	t.Logf("rolling change of 3 units: %.1f s, %d queries", time.Since(began).Seconds(), clients.queries.Load()-before)

	w.change(&c, "shop", func() { c.Spec.Columnar.Units = 1 })
	w.awaitReady(1)
	direct := w.connect(w.direct())
	w.eventually("one replication slot", func(ctx context.Context) error {
		var slots int
		err := direct.QueryRow(ctx, "SELECT count(*) FROM pg_replication_slots").Scan(&slots)
		if err == nil && slots != 1 {
			err = fmt.Errorf("%d slots", slots)
		}
		return err
	})

	failed := clients.stop()
	t.Logf("in all %d queries, %d transfers, %d errors, %d violations", clients.queries.Load(), clients.transfers.Load(), len(failed), clients.violations.Load())
	for _, err := range failed[:min(len(failed), 10)] {
		t.Errorf("a client got an error: %v", err)
	}
	if n := clients.violations.Load(); n > 0 {
		t.Errorf("%d snapshots in which money was missing", n)
	}
	if clients.transfers.Load() == 0 {
		t.Error("no money was moved")
	}
}
