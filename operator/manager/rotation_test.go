//go:build kubernetes

package manager

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/cluster"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/lack"
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
	w.startPostgreSQL()
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
		users := map[string]int{}
		for _, p := range d.passwords {
			before, err := pgx.ParseConfig(p[0])
			after, afterErr := pgx.ParseConfig(p[1])
			if err := errors.Join(err, afterErr); err != nil {
				t.Fatal(err)
			}
			if users[before.User]++; before.User != after.User || before.Password == after.Password {
				t.Errorf("the password of %s became one of %s, another: %t", before.User, after.User, before.Password != after.Password)
			}
		}
		if diff := cmp.Diff(map[string]int{"freshet": 1, "freshet_units": 1, "freshet_app": 1}, users); diff != "" {
			t.Errorf("passwords were changed (-want +got):\n%s", diff)
		}
		if last := d.passwords[len(d.passwords)-1]; last != [2]string{uri, newURI} {
			t.Errorf("that of applications was changed from %q to %q", last[0], last[1])
		}
		if len(d.provisioned) != 1 {
			t.Errorf("roles were made %d times", len(d.provisioned))
		}
	})
}

func TestCluster_letsNobodyBeSuperuser(t *testing.T) {
	w := newWorld(t)
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{}}
	w.databases.change(func(d *databases) {
		d.unprovided = fmt.Errorf("connect: %w", &lack.Lack{Reason: database.ReasonAuthenticationFailed, Detail: "no", Remedy: "correct it"})
	})
	w.create(c)
	w.startPostgreSQL()
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "AuthenticationFailed")
	w.databases.change(func(d *databases) { d.unprovided = nil })
	units := w.startUnits(fresh)
	got := w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	var superuser, unit, app corev1.Secret
	if err := errors.Join(w.get("shop-oltp-superuser", &superuser), w.get("shop-oltp-units", &unit), w.get("shop-oltp", &app)); err != nil {
		t.Fatal(err)
	}
	if string(superuser.Data["provisioned"]) != "true" || got.Status.ConnectionSecret != "shop-oltp" || app.Data["worker-uri"] != nil || unit.Data["endpoint-uri"] != nil {
		t.Errorf("provisioned %q, clients use Secret %s with %d keys", superuser.Data["provisioned"], got.Status.ConnectionSecret, len(app.Data))
	}
	w.databases.change(func(d *databases) {
		want := []provisioned{{string(superuser.Data["uri"]), database.Role{Name: "freshet_app", Password: string(app.Data["password"])},
			database.Role{Name: "freshet_units", Password: string(unit.Data["password"])}}}
		if diff := cmp.Diff(want, d.provisioned, cmp.AllowUnexported(provisioned{})); diff != "" {
			t.Errorf("roles (-want +got):\n%s", diff)
		}
	})
	// A superuser's password that is lost does not make one of the role of applications.
	if err := w.Delete(t.Context(), &superuser); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		w.wake()
		if err := errors.Join(w.get("shop-oltp-superuser", &superuser), w.get("shop-oltp", &app)); err != nil {
			return err
		}
		if string(superuser.Data["provisioned"]) != "true" || string(app.Data["username"]) != "freshet_app" {
			return fmt.Errorf("provisioned %q, applications are %s", superuser.Data["provisioned"], app.Data["username"])
		}
		return nil
	})
	for _, e := range units.Spec.Template.Spec.Containers[0].Env {
		if e.Name == "FRESHET_POSTGRES_URL" && e.ValueFrom.SecretKeyRef.Name != "shop-oltp-units" {
			t.Errorf("units use Secret %s", e.ValueFrom.SecretKeyRef.Name)
		}
	}
}

func TestCluster_keepsTheRoleOfAVolumeThatHasOne(t *testing.T) {
	w := newWorld(t)
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "shop-oltp", Labels: map[string]string{"freshet.io/cluster": "shop"}}, Data: map[string][]byte{"password": []byte("known")}}
	w.create(kept)
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{}}
	w.create(c)
	set := w.startPostgreSQL()
	units := w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	if err := w.get("shop-oltp", kept); err != nil {
		t.Fatal(err)
	}
	if user, uri := string(kept.Data["username"]), string(kept.Data["uri"]); user != "freshet" || !strings.HasPrefix(uri, "postgresql://freshet:known@") {
		t.Errorf("user %s, connection string %s", user, uri)
	}
	if err := w.get("shop-oltp-superuser", &corev1.Secret{}); !apierrors.IsNotFound(err) {
		t.Errorf("another superuser was made up: %v", err)
	}
	for _, e := range append(set.Spec.Template.Spec.Containers[0].Env, units.Spec.Template.Spec.Containers[0].Env...) {
		if (e.Name == "POSTGRES_PASSWORD" || e.Name == "FRESHET_POSTGRES_URL") && e.ValueFrom.SecretKeyRef.Name != "shop-oltp" {
			t.Errorf("%s is in Secret %s", e.Name, e.ValueFrom.SecretKeyRef.Name)
		}
	}
	w.databases.change(func(d *databases) {
		if len(d.provisioned) > 0 {
			t.Errorf("roles were made: %+v", d.provisioned)
		}
	})
}

// startPostgreSQL plays the builtin database's pod.
func (w *world) startPostgreSQL() *appsv1.StatefulSet {
	w.t.Helper()
	var set appsv1.StatefulSet
	w.eventually(func() error { return w.get("shop-oltp", &set) })
	set.Status.Replicas, set.Status.ReadyReplicas = 1, 1
	if err := w.Status().Update(w.t.Context(), &set); err != nil {
		w.t.Fatal(err)
	}
	return &set
}
