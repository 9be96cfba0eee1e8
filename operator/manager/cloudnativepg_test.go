//go:build kubernetes

package manager

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/cluster"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/lack"
)

// cloudNative returns a cluster whose database CloudNativePG runs.
func cloudNative() *v1alpha1.HTAPCluster {
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{Provider: v1alpha1.CloudNativePG}}
	return c
}

// postgresCluster returns CloudNativePG's Cluster.
func (w *world) postgresCluster() (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("postgresql.cnpg.io/v1")
	o.SetKind("Cluster")
	return o, w.get("shop-oltp", o)
}

// tell plays CloudNativePG's operator, which says how a Cluster does.
func (w *world) tell(ready, phase, reason string, instances int64, refused map[string]any) {
	w.t.Helper()
	w.eventually(func() error {
		o, err := w.postgresCluster()
		if err != nil {
			return err
		}
		o.Object["status"] = map[string]any{
			"phase": phase, "phaseReason": reason, "readyInstances": instances, "managedRolesStatus": map[string]any{"cannotReconcile": refused},
			"conditions": []any{
				map[string]any{"type": "ContinuousArchiving", "status": "True", "reason": "r", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"},
				map[string]any{"type": "Ready", "status": ready, "reason": "r", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"},
			},
		}
		return w.Status().Update(w.t.Context(), o)
	})
}

// awaitMessage waits until OLTPReady is false and says what is wanted, its remedy, and what follows.
func (w *world) awaitMessage(want string, follows ...string) {
	w.t.Helper()
	w.eventually(func() error {
		got := w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "CloudNativePGNotReady")
		const remedy = "; see kubectl describe clusters.postgresql.cnpg.io shop-oltp, its pods, and the log of CloudNativePG's operator"
		if m := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionOLTPReady).Message; m != want+remedy+strings.Join(follows, "") {
			return fmt.Errorf("OLTPReady says %q", m)
		}
		return nil
	})
}

const healthy = "Cluster in healthy state"

func TestCluster_hasCloudNativePGRunItsDatabase(t *testing.T) {
	w := newWorld(t)
	c := cloudNative()
	w.create(c)
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "CloudNativePGNotInstalled")
	w.deleted(c) // there is nothing to clean
	c = cloudNative()
	w.create(c)
	got := w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "CloudNativePGNotInstalled")
	const missing = "kind Cluster of postgresql.cnpg.io/v1 does not exist; install CloudNativePG's operator, 1.27 or later, or create an HTAPCluster with oltp.postgresql.provider builtin"
	if m := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionOLTPReady).Message; m != missing {
		t.Errorf("OLTPReady says %q", m)
	}
	if _, err := envtest.InstallCRDs(apiServer, envtest.CRDInstallOptions{Paths: []string{"testdata/cloudnativepg.yaml"}}); err != nil {
		t.Fatal(err)
	}
	w.awaitMessage(`Cluster "shop-oltp" is not ready: CloudNativePG has not looked at it yet`)
	w.tell("False", "Setting up primary", "Creating primary instance shop-oltp-1", 0, nil)
	w.awaitMessage(`Cluster "shop-oltp" is not ready: Setting up primary: Creating primary instance shop-oltp-1 (0 of 3 instances are ready)`)
	w.tell("True", healthy, "", 3, map[string]any{"freshet": []any{"role sales does not exist"}})
	w.awaitMessage(`Cluster "shop-oltp" is not ready: role freshet: role sales does not exist`)
	w.tell("True", healthy, "", 3, nil)
	w.awaitMessage(`Cluster "shop-oltp" is not ready: Cluster in healthy state (3 of 3 instances are ready)`) // without an authority nobody can be verified
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-oltp-ca"}, Data: map[string][]byte{"ca.crt": []byte("an authority")}})
	set := w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.connectsToCloudNativePG()
	if env := gatewayEnv(set); env["FRESHET_SLOT_FAILOVER"] != "true" || env["PGSSLROOTCERT"] == "" {
		t.Errorf("units have environment %v", env)
	}
	w.isSteady()

	w.tellsNodesSharedWithCloudNativePG(set)
	w.isRefused()
	w.failsOver()
	w.rotatesByCloudNativePG()
	w.retainsCloudNativePG(c)
}

// isRefused asks for what CloudNativePG does not let anybody set. The database goes on as it is.
func (w *world) isRefused() {
	w.t.Helper()
	change := func(parameters map[string]v1alpha1.ParameterValue) {
		w.t.Helper()
		w.eventually(func() error {
			var c v1alpha1.HTAPCluster
			if err := w.get("shop", &c); err != nil {
				return err
			}
			c.Spec.OLTP.PostgreSQL.Parameters = parameters
			return w.Update(w.t.Context(), &c)
		})
	}
	change(map[string]v1alpha1.ParameterValue{"archive_mode": "off"})
	got := w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "CloudNativePGRefuses")
	if m := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionOLTPReady).Message; !strings.Contains(m, "Can't set fixed configuration parameter; correct oltp.postgresql") {
		w.t.Errorf("OLTPReady says %q", m)
	}
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionTrue, "Streaming")
	change(nil)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
}

// failsOver requires that units go on, and are looked at, while the database is away.
func (w *world) failsOver() {
	w.t.Helper()
	away := &lack.Lack{Reason: database.ReasonUnreachable, Detail: "it does not answer", Remedy: "wait"}
	w.databases.change(func(d *databases) { d.away = away })
	changed := time.Now()
	w.tell("False", "Failing over", "Failing over from shop-oltp-1 to shop-oltp-2", 2, nil)
	const why = `Cluster "shop-oltp" is not ready: Failing over: Failing over from shop-oltp-1 to shop-oltp-2 (2 of 3 instances are ready)`
	w.awaitMessage(why, ". it does not answer; wait")
	if took := time.Since(changed); took > 20*time.Second { // it would have looked by itself after 30 s
		w.t.Errorf("the operator learned of it after %v: it does not watch", took)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "CloudNativePGNotReady")
	w.awaitCondition(v1alpha1.ConditionPipelineReady, metav1.ConditionTrue, "Streaming")
	w.databases.change(func(d *databases) { d.away = nil })
	w.tell("True", healthy, "", 3, nil)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
}

// deleted deletes a cluster, and waits until it is gone.
func (w *world) deleted(c *v1alpha1.HTAPCluster) {
	w.t.Helper()
	if err := w.Delete(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	w.eventually(func() error {
		if err := w.get("shop", c); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the cluster is still there: %v", err)
		}
		return nil
	})
}

// connectsToCloudNativePG requires a connection Secret that leads to the primary, and a policy for the servers.
func (w *world) connectsToCloudNativePG() {
	w.t.Helper()
	var connection corev1.Secret
	if err := errors.Join(w.get("shop-oltp", &connection), w.get("shop-oltp", &networkingv1.NetworkPolicy{})); err != nil {
		w.t.Fatal(err)
	}
	text := func(key string) string { return string(connection.Data[key]) }
	want := "postgresql://freshet:" + text("password") + "@shop-oltp-rw." + w.namespace + ".svc:5432/app?sslmode=verify-full"
	if text("uri") != want || text("ca.crt") != "an authority" || text("password") == "" {
		w.t.Errorf("units connect by %q and verify by %q", text("uri"), text("ca.crt"))
	}
}

// rotatesByCloudNativePG asks for a new password, which the database and then CloudNativePG's Secret get.
func (w *world) rotatesByCloudNativePG() {
	w.t.Helper()
	var before, after corev1.Secret
	if err := w.get("shop-oltp", &before); err != nil {
		w.t.Fatal(err)
	}
	w.eventually(func() error {
		var c v1alpha1.HTAPCluster
		if err := w.get("shop", &c); err != nil {
			return err
		}
		c.Annotations = map[string]string{cluster.RotateAnnotation: "1"}
		return w.Update(w.t.Context(), &c)
	})
	w.eventually(func() error {
		if err := w.get("shop-oltp", &after); err != nil {
			return err
		}
		if string(after.Data["password"]) == string(before.Data["password"]) {
			return errors.New("the password is still the old one")
		}
		return nil
	})
	w.databases.change(func(d *databases) {
		if diff := cmp.Diff([][2]string{{string(before.Data["uri"]), string(after.Data["uri"])}}, d.passwords); diff != "" {
			w.t.Errorf("the database was told (-want +got):\n%s", diff)
		}
	})
}

// retainsCloudNativePG deletes a cluster, whose Cluster stays and sleeps, and makes it again, for good this time.
func (w *world) retainsCloudNativePG(c *v1alpha1.HTAPCluster) {
	w.t.Helper()
	sleeps := func(want string) *unstructured.Unstructured {
		w.t.Helper()
		var o *unstructured.Unstructured
		w.eventually(func() error {
			var err error
			if o, err = w.postgresCluster(); err != nil {
				return err
			}
			if is := o.GetAnnotations()["cnpg.io/hibernation"]; is != want {
				return fmt.Errorf("hibernation is %q", is)
			}
			return nil
		})
		return o
	}
	var password corev1.Secret
	if err := w.get("shop-oltp", &password); err != nil {
		w.t.Fatal(err)
	}
	if o := sleeps("off"); len(o.GetOwnerReferences())+len(password.OwnerReferences) > 0 {
		w.t.Error("a database that is kept is deleted with its HTAPCluster")
	}
	if err := w.Delete(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "StoppingUnits")
	w.end("shop-unit-0")
	w.eventually(func() error {
		if err := w.get("shop", c); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the cluster is still there: %v", err)
		}
		return nil
	})
	sleeps("on")
	// As the garbage collector does, with all that the HTAPCluster owned.
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "shop-oltp", Namespace: w.namespace}}
	if err := w.Client.Delete(w.t.Context(), policy); err != nil {
		w.t.Fatal(err)
	}

	again := cloudNative()
	again.Spec.DeletionPolicy = v1alpha1.Delete
	w.create(again)
	sleeps("off")
	w.eventually(func() error {
		o, err := w.postgresCluster()
		if err == nil && !metav1.IsControlledBy(o, again) {
			err = errors.New("the Cluster does not go with its HTAPCluster")
		}
		return err
	})
	var now corev1.Secret
	if err := w.get("shop-oltp", &now); err != nil || string(now.Data["password"]) != string(password.Data["password"]) {
		w.t.Errorf("the password that the volumes know is lost; error %v", err)
	}
}
