//go:build kubernetes

package manager

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/gateway/shares"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

func newTenant(name string, users ...v1alpha1.RoleName) *v1alpha1.HTAPTenant {
	t := &v1alpha1.HTAPTenant{ObjectMeta: metav1.ObjectMeta{Name: name}}
	t.Spec.ClusterRef.Name, t.Spec.Users = "shop", users
	return t
}

// awaitTenant waits until a tenant's condition has a status and reason for the present generation, and returns its message.
func (w *world) awaitTenant(name, condition string, status metav1.ConditionStatus, reason string) string {
	w.t.Helper()
	var message string
	w.eventually(func() error {
		var t v1alpha1.HTAPTenant
		if err := w.get(name, &t); err != nil {
			return err
		}
		have := meta.FindStatusCondition(t.Status.Conditions, condition)
		if have == nil || have.Status != status || have.Reason != reason || have.ObservedGeneration != t.Generation || t.Status.ObservedGeneration != t.Generation {
			return fmt.Errorf("condition %s of %s is %+v", condition, name, have)
		}
		message = have.Message
		return nil
	})
	return message
}

// tenantsFile waits until the file of tenants is as wanted and returns it.
func (w *world) tenantsFile(ok func(*shares.Table) error) []byte {
	w.t.Helper()
	var content string
	w.eventually(func() error {
		var file corev1.ConfigMap
		if err := w.get("shop-tenants", &file); err != nil {
			return err
		}
		content = file.Data["tenants.yaml"]
		table, err := shares.Parse([]byte(content))
		if err != nil {
			return err
		}
		return ok(table)
	})
	return []byte(content)
}

// ofTenant says that a user is in a tenant with the given shares.
func ofTenant(user, name string, number int) func(*shares.Table) error {
	return func(t *shares.Table) error {
		if got := t.Of(user); got.Name != name || got.Shares != number {
			return fmt.Errorf("%s is in tenant %s with %d shares, want %s with %d", user, got.Name, got.Shares, name, number)
		}
		return nil
	}
}

// using is a fresh unit that uses a file of tenants.
func using(content []byte) unit.Status {
	s := fresh
	s.Tenants.Digest = shares.Digest(content)
	return s
}

func TestTenant_isAppliedWhenEveryUnitUsesIt(t *testing.T) {
	w := newWorld(t)
	c, secret := external(2)
	w.create(newTenant("office", "ann"))
	w.awaitTenant("office", v1alpha1.ConditionAccepted, metav1.ConditionFalse, "ClusterNotFound")
	w.create(secret)
	w.create(c)
	w.awaitTenant("office", v1alpha1.ConditionApplied, metav1.ConditionFalse, "NoUnits")
	file := w.tenantsFile(ofTenant("ann", "office", 100))
	set := w.startUnits(using(file), using(file))
	w.awaitTenant("office", v1alpha1.ConditionApplied, metav1.ConditionTrue, "Applied")

	var office v1alpha1.HTAPTenant
	if err := w.get("office", &office); err != nil {
		t.Fatal(err)
	}
	before := office.DeepCopy()
	office.Spec.Shares = 700
	if err := w.Patch(t.Context(), &office, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	file = w.tenantsFile(ofTenant("ann", "office", 700))
	w.awaitTenant("office", v1alpha1.ConditionApplied, metav1.ConditionFalse, "UnitsBehind")
	// The kubelets of both units are made to look.
	for _, name := range []string{"shop-unit-0", "shop-unit-1"} {
		w.eventually(func() error {
			var pod corev1.Pod
			if err := w.get(name, &pod); err != nil {
				return err
			}
			if seen := pod.Annotations[manifest.TenantsSeen]; !strings.HasPrefix(seen, shares.Digest(file)) {
				return fmt.Errorf("annotation of %s is %q", name, seen)
			}
			return nil
		})
	}
	w.units.answer("10.0.0.1", using(file))
	refuses := fresh
	refuses.Tenants.Problem = "the disk is full"
	w.units.answer("10.0.0.2", refuses)
	if m := w.awaitTenant("office", v1alpha1.ConditionApplied, metav1.ConditionFalse, "UnitsRefuse"); m != "shop-unit-1: the disk is full" {
		t.Errorf("message %q", m)
	}
	w.units.answer("10.0.0.2", using(file))
	w.awaitTenant("office", v1alpha1.ConditionApplied, metav1.ConditionTrue, "Applied")
	now := set.DeepCopy()
	if err := w.get("shop-unit", now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(set.Spec.Template, now.Spec.Template); diff != "" {
		t.Errorf("the pods' template changed, which restarts them (-before +after):\n%s", diff)
	}
}

func TestTenant_isNotAppliedWhileAUnitInServiceCannotBeAsked(t *testing.T) {
	w := newWorld(t)
	c, secret := external(2)
	w.create(secret)
	w.create(c)
	w.create(newTenant("office", "ann"))
	file := w.tenantsFile(ofTenant("ann", "office", 100))
	set := w.startUnits(using(file))
	w.awaitTenant("office", v1alpha1.ConditionApplied, metav1.ConditionTrue, "Applied")
	silent := w.run("shop-unit-1", set.Spec.Template, "10.0.0.2")
	silent.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := w.Status().Update(t.Context(), silent); err != nil {
		t.Fatal(err)
	}
	if m := w.awaitTenant("office", v1alpha1.ConditionApplied, metav1.ConditionFalse, "UnitsBehind"); m != "1 of 2 units in service use it, shop-unit-1 does not yet" {
		t.Errorf("message %q", m)
	}
	w.units.answer("10.0.0.2", using(file))
	w.awaitTenant("office", v1alpha1.ConditionApplied, metav1.ConditionTrue, "Applied")
}

func TestTenant_leavesTheFileWhenItIsDeletedOrRefused(t *testing.T) {
	w := newWorld(t)
	c, secret := external(1)
	w.create(secret)
	w.create(c)
	w.create(newTenant("first", "ann"))
	w.awaitTenant("first", v1alpha1.ConditionAccepted, metav1.ConditionTrue, "Accepted")
	w.create(newTenant("second", "ann", "bob"))
	const want = `user "ann" is in HTAPTenant "first", which is older; take it out of one of them`
	if m := w.awaitTenant("second", v1alpha1.ConditionAccepted, metav1.ConditionFalse, "UserClaimed"); m != want {
		t.Errorf("message %q, want %q", m, want)
	}
	w.awaitTenant("second", v1alpha1.ConditionApplied, metav1.ConditionFalse, "NotAccepted")
	w.tenantsFile(ofTenant("bob", shares.Everyone, shares.DefaultShares))
	if err := w.Delete(t.Context(), newTenantIn(w.namespace, "first")); err != nil {
		t.Fatal(err)
	}
	w.awaitTenant("second", v1alpha1.ConditionAccepted, metav1.ConditionTrue, "Accepted")
	w.tenantsFile(ofTenant("ann", "second", 100))
	if err := w.Delete(t.Context(), newTenantIn(w.namespace, "second")); err != nil {
		t.Fatal(err)
	}
	w.tenantsFile(ofTenant("ann", shares.Everyone, shares.DefaultShares))
}

func newTenantIn(namespace, name string) *v1alpha1.HTAPTenant {
	t := newTenant(name)
	t.Namespace = namespace
	return t
}

func TestTenant_causesNoWriteWhileNothingChanges(t *testing.T) {
	w := newWorld(t)
	c, secret := external(1)
	w.create(secret)
	w.create(c)
	w.create(newTenant("office", "ann"))
	w.create(newTenant("everyone-else"))
	file := w.tenantsFile(ofTenant("bob", "everyone-else", 100))
	w.startUnits(using(file))
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.awaitTenant("office", v1alpha1.ConditionApplied, metav1.ConditionTrue, "Applied")
	w.awaitTenant("everyone-else", v1alpha1.ConditionApplied, metav1.ConditionTrue, "Applied")
	w.look(2) // what was begun before has ended
	w.writes.take()
	w.look(5)
	w.operate() // another operator, which has seen nothing yet, finds nothing to do either
	w.look(5)
	if writes := w.writes.take(); len(writes) > 0 {
		t.Errorf("the operator wrote:\n%v", writes)
	}
}

func TestTenant_clusterWithoutTenantsHasNoFile(t *testing.T) {
	w := newWorld(t)
	w.serving()
	w.look(2)
	if err := w.get("shop-tenants", &corev1.ConfigMap{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("reading the file of no tenants: %v, want that it is not found", err)
	}
}
