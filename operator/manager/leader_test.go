//go:build kubernetes

package manager

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// candidate is an operator that works while no other does. The lease is where the chart's Role allows it, so that one test at a time may
// have candidates.
type candidate struct {
	running
	writes *recorder
	cut    atomic.Bool // its way to the API server
}

// stand starts a candidate whose lease is valid for a time after it was renewed last.
func (w *world) stand(lease time.Duration, tune func(*ctrl.Options)) *candidate {
	w.t.Helper()
	c := &candidate{writes: &recorder{}}
	wrap := func(next http.RoundTripper) http.RoundTripper {
		reached := c.writes.wrap(next)
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			if c.cut.Load() {
				return nil, errors.New("no route to host")
			}
			return reached.RoundTrip(q)
		})
	}
	renew, retry := lease/3*2, 500*time.Millisecond
	c.running = w.start(wrap, func(o *ctrl.Options) {
		o.LeaderElection, o.LeaderElectionNamespace = true, release
		o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = &lease, &renew, &retry
		tune(o)
	})
	return c
}

// await waits until a channel is closed.
func (w *world) await(what string, c <-chan struct{}) {
	w.t.Helper()
	select {
	case <-c:
	case <-time.After(2 * time.Minute):
		w.t.Fatalf("wait in vain: %s", what)
	}
}

// lease returns the candidates' lease.
func (w *world) lease() coordinationv1.LeaseSpec {
	w.t.Helper()
	var lease coordinationv1.Lease
	if err := w.Get(w.t.Context(), client.ObjectKey{Namespace: release, Name: "freshet-operator"}, &lease); err != nil {
		w.t.Fatal(err)
	}
	return lease.Spec
}

// scale changes the number of units, and waits until an operator has seen to it.
func (w *world) scale(units int32) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"columnar":{"units":%d}}}`, units)
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}}
	if err := w.Patch(w.t.Context(), c, client.RawPatch("application/merge-patch+json", patch)); err != nil {
		w.t.Fatal(err)
	}
	w.eventually(func() error {
		var set appsv1.StatefulSet
		if err := w.get("shop-unit", &set); err != nil {
			return err
		}
		if *set.Spec.Replicas != units {
			return fmt.Errorf("%d units, want %d", *set.Spec.Replicas, units)
		}
		return nil
	})
}

func TestLeader_isFollowedAtOnceWhenItEndsInOrder(t *testing.T) {
	w := newIdleWorld(t, apiServer)
	const lease = time.Hour // who takes over earlier does so because it was let
	first := w.stand(lease, func(*ctrl.Options) {})
	w.await("the first operator leads", first.elected)
	second := w.stand(lease, func(*ctrl.Options) {})
	c, secret := external(1)
	w.create(secret)
	w.create(c)
	w.scale(2)
	select {
	case <-second.elected:
		t.Error("two operators lead")
	default:
	}
	if writes := second.writes.take(); len(writes) > 0 {
		t.Errorf("an operator that does not lead wrote:\n%v", writes)
	}
	if err := first.stop(); err != nil {
		t.Errorf("the first operator ended with %v", err)
	}
	first.writes.take()
	w.await("the second operator leads", second.elected)
	w.scale(1)
	if err := second.stop(); err != nil { // for the tests that come after
		t.Errorf("the second operator ended with %v", err)
	}
	if writes := first.writes.take(); len(writes) > 0 {
		t.Errorf("the operator that has ended wrote:\n%v", writes)
	}
}

func TestLeader_isFollowedWhenItsLeaseHasEnded(t *testing.T) {
	const lease = 9 * time.Second
	for name, end := range map[string]func(*candidate) error{
		"killed": func(c *candidate) error { return c.stop() },
		"cut off": func(c *candidate) error {
			c.cut.Store(true)
			<-c.ended // by itself: it cannot know whether another leads
			if c.stop() == nil {
				return errors.New("an operator that lost its lease ended without an error")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newIdleWorld(t, apiServer)
			c, secret := external(1)
			w.create(secret)
			w.create(c)
			// What is killed gives no lease back.
			first := w.stand(lease, func(o *ctrl.Options) { o.LeaderElectionReleaseOnCancel = false })
			w.await("the first operator leads", first.elected)
			w.scale(2)
			second := w.stand(lease, func(*ctrl.Options) {})
			if err := end(first); err != nil {
				t.Error(err)
			}
			left := w.lease()
			w.await("the second operator leads", second.elected)
			taken := w.lease()
			if *taken.HolderIdentity == *left.HolderIdentity {
				t.Errorf("the lease is still with %s", *left.HolderIdentity)
			}
			if early := left.RenewTime.Add(lease).Sub(taken.AcquireTime.Time); early > 0 {
				t.Errorf("the second operator took over %v before the first one's lease ended", early)
			}
			w.scale(1)
			if err := second.stop(); err != nil {
				t.Errorf("the second operator ended with %v", err)
			}
		})
	}
}
