//go:build e2e

package pods

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// soon is what a change of a tenant may take at most, on a machine that others load: it was one second on a real kubelet, and a
// kubelet that is not told of it takes about a minute.
const soon = 30 * time.Second

func TestTenant_changeReachesRunningSessionsOfEveryUnit(t *testing.T) {
	t.Parallel() // it leaves the machine alone for most of its time
	w := newWorld(t)
	w.start(builtin(2))
	w.exec(w.connect(w.directAs("shop-oltp-superuser")), "CREATE ROLE analyst LOGIN PASSWORD 'analyst'")
	sessions := []*pgx.Conn{w.connect(w.unitURL(0, "analyst")), w.connect(w.unitURL(1, "analyst"))}
	before := w.incarnations(2)

	tenant := &v1alpha1.HTAPTenant{ObjectMeta: metav1.ObjectMeta{Name: "analysts"}}
	tenant.Spec.ClusterRef.Name, tenant.Spec.Users = "shop", []v1alpha1.RoleName{"analyst"}
	tenant.Spec.Freshness = freshness(7 * time.Second)
	w.create(tenant)
	w.requireStaleness(sessions, "7s")
	for _, bound := range []time.Duration{8 * time.Second, 9 * time.Second, 10 * time.Second} {
		w.change(tenant, tenant.Name, func() { tenant.Spec.Freshness = freshness(bound) })
		w.requireStaleness(sessions, bound.String())
	}
	w.eventually("the condition Applied", func(context.Context) error {
		if err := w.get(tenant.Name, tenant); err != nil {
			return err
		}
		applied := meta.FindStatusCondition(tenant.Status.Conditions, v1alpha1.ConditionApplied)
		if applied == nil || applied.Status != metav1.ConditionTrue || applied.ObservedGeneration != tenant.Generation {
			return fmt.Errorf("conditions %+v", tenant.Status.Conditions)
		}
		return nil
	})
	if err := w.Delete(t.Context(), tenant); err != nil {
		t.Fatal(err)
	}
	w.requireStaleness(sessions, "1s")
	if diff := cmp.Diff(before, w.incarnations(2)); diff != "" {
		t.Errorf("units were restarted (-before +after):\n%s", diff)
	}
}

// freshness is one of mode bounded.
func freshness(bound time.Duration) *v1alpha1.SessionFreshness {
	return &v1alpha1.SessionFreshness{Mode: "bounded", MaxStaleness: metav1.Duration{Duration: bound}}
}

// unitURL is a unit's own connection string for a role whose password is its name.
func (w *world) unitURL(number int, role string) string {
	w.t.Helper()
	u, err := url.Parse(w.url())
	if err != nil {
		w.t.Fatal(err)
	}
	u.User, u.Host = url.UserPassword(role, role), fmt.Sprintf("shop-unit-%d.shop-unit.%s.svc:5432", number, w.namespace)
	return u.String()
}

// incarnations tells the processes of units apart.
func (w *world) incarnations(units int) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for n := range units {
		pod := w.pod(fmt.Sprintf("shop-unit-%d", n))
		out[pod.Name] = string(pod.UID)
		for _, c := range pod.Status.ContainerStatuses {
			out[pod.Name] += fmt.Sprintf(" %s/%d", c.Name, c.RestartCount)
		}
	}
	return out
}

// requireStaleness waits until every session's default is the given one.
func (w *world) requireStaleness(sessions []*pgx.Conn, want string) {
	w.t.Helper()
	began := time.Now()
	for _, session := range sessions {
		w.eventually("a bound of "+want, func(ctx context.Context) error {
			var got string
			err := session.QueryRow(ctx, "SHOW freshet.max_staleness").Scan(&got)
			if err == nil && got != want {
				err = fmt.Errorf("it is %s", got)
			}
			return err
		})
	}
	took := time.Since(began)
	w.t.Logf("a bound of %s in both units' sessions: after %.1f s", want, took.Seconds())
	if took > soon {
		w.t.Errorf("a change took %v", took)
	}
}
