//go:build kubernetes

package manager

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/cluster"
)

func TestCluster_rotatesPasswordsWhenAsked(t *testing.T) {
	w := newWorld(t)
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{}}
	w.create(c)
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "DatabaseStarting")
	read := func() (password, next, uri, engine, inputs string) {
		var database, engines corev1.Secret
		var units appsv1.StatefulSet
		if err := errors.Join(w.get("shop-oltp", &database), w.get("shop-engine", &engines), w.get("shop-unit", &units)); err != nil {
			return
		}
		return string(database.Data["password"]), string(database.Data["next-password"]), string(database.Data["uri"]), string(engines.Data["password"]),
			units.Spec.Template.Annotations["freshet.io/inputs"]
	}
	await := func(what string, holds func() bool) {
		w.eventually(func() error {
			if !holds() {
				return errors.New(what + " did not happen")
			}
			return nil
		})
	}
	var set appsv1.StatefulSet
	if err := w.get("shop-oltp", &set); err != nil {
		t.Fatal(err)
	}
	set.Status.Replicas, set.Status.ReadyReplicas = 1, 1
	if err := w.Status().Update(t.Context(), &set); err != nil {
		t.Fatal(err)
	}
	await("units", func() bool { _, _, _, _, inputs := read(); return inputs != "" })
	password, _, uri, engine, inputs := read()

	w.databases.change(func(d *databases) { d.refuse = errors.New("the database is busy") })
	w.eventually(func() error {
		if err := w.get("shop", c); err != nil {
			return err
		}
		c.Annotations = map[string]string{cluster.RotateAnnotation: "1"}
		return w.Update(t.Context(), c)
	})
	await("the next password to be written down", func() bool { _, next, _, _, _ := read(); return next != "" })
	now, next, _, _, _ := read()
	if now != password {
		t.Error("the password was replaced in the Secret before the database had it")
	}
	w.databases.change(func(d *databases) { d.refuse = nil })
	await("the rotation", func() bool { now, _, _, _, _ := read(); return now == next })
	await("units with new passwords", func() bool { _, _, _, _, now := read(); return now != inputs })
	now, pending, newURI, newEngine, _ := read()
	if pending != "" || now == password || newEngine == engine || newURI != strings.Replace(uri, password, now, 1) {
		t.Errorf("after the rotation: next password %q, engine's new: %t, connection string %q", pending, newEngine != engine, newURI)
	}
	w.databases.change(func(d *databases) {
		if diff := cmp.Diff([][2]string{{uri, newURI}}, d.passwords); diff != "" {
			t.Errorf("the database was told (-want +got):\n%s", diff)
		}
	})
}
