//go:build kubernetes

package manager

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/lack"
)

// unreachable is why a database that has never come up cannot be cleaned.
var unreachable = &lack.Lack{Reason: database.ReasonUnreachable, Detail: "db:5432 does not accept a connection", Remedy: "see that it runs"}

func TestCluster_isDeletedWhereNoUnitHasEverRun(t *testing.T) {
	external, secret := external(1)
	secret.Data["uri"] = []byte("postgresql://u:p@nowhere/shop")
	for name, c := range map[string]struct {
		cluster *v1alpha1.HTAPCluster
		secret  *corev1.Secret
		reason  string
	}{
		"without its connection Secret":        {external.DeepCopy(), nil, "SecretNotFound"},
		"with a database that does not answer": {external.DeepCopy(), secret, "DatabaseUnreachable"},
		"with a database that does not start":  {databaseWith(nil, v1alpha1.Retain), nil, "DatabaseStarting"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.databases.change(func(d *databases) { d.away = unreachable })
			if c.secret != nil {
				w.create(c.secret)
			}
			w.create(c.cluster)
			w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, c.reason)
			if err := w.Delete(t.Context(), c.cluster); err != nil {
				t.Fatal(err)
			}
			w.vanished("shop", &v1alpha1.HTAPCluster{})
		})
	}
}

// A namespace that is deleted takes Secrets, StatefulSets and pods along before the HTAPCluster, which its finalizer keeps.
func TestCluster_isDeletedWithItsNamespace(t *testing.T) {
	w := newWorld(t)
	w.runDatabase(databaseWith(nil, v1alpha1.Retain))
	w.databases.change(func(d *databases) { d.away = unreachable })
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: w.namespace}}
	if err := w.Client.Delete(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "StoppingUnits")
	for _, kind := range []client.Object{&corev1.Secret{}, &appsv1.StatefulSet{}, &corev1.Pod{}} {
		if err := w.DeleteAllOf(t.Context(), kind, client.InNamespace(w.namespace), client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}
	w.vanished("shop", &v1alpha1.HTAPCluster{})
}
