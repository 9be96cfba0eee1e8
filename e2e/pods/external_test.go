//go:build e2e

package pods

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// The user's database: its host, its superuser, the role that owns the tables and may replicate, and the Secret of that.
const (
	databaseHost   = "db"
	superuser      = "root"
	owner          = "shop"
	databaseSecret = "shop-db"
)

func TestExternalDatabase_isFollowedThroughRotationAndStaleness(t *testing.T) {
	t.Parallel() // it leaves the machine alone for most of its time
	w := newWorld(t)
	w.startDatabase()
	t.Cleanup(func() {
		if t.Failed() {
			w.show(t.Output(), w.namespace)
		}
	})
	super := w.connect(w.postgresURL(superuser, "super", databaseHost, superuser))
	w.exec(super, fmt.Sprintf("CREATE ROLE %s LOGIN REPLICATION PASSWORD 'first'", owner))
	w.exec(super, fmt.Sprintf("CREATE DATABASE %[1]s OWNER %[1]s", owner))
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: databaseSecret}, StringData: map[string]string{"uri": w.ownersURL("wrong", databaseHost)}})
	w.create(external(2))
	t.Cleanup(func() { w.remove("Secret " + databaseSecret) })

	// A Secret that does not open the database is told, with what to do.
	broken := w.await(v1alpha1.ConditionReady, metav1.ConditionFalse, "AuthenticationFailed")
	if message := meta.FindStatusCondition(broken.Status.Conditions, v1alpha1.ConditionOLTPReady).Message; !strings.Contains(message, "correct user and password in the connection Secret") {
		t.Errorf("condition OLTPReady does not say what to do: %s", message)
	}
	w.rotate("first")
	w.awaitReady(2)
	conn := w.connect(w.ownersURL("first", "shop"))
	w.exec(conn, "CREATE TABLE item(id int PRIMARY KEY); INSERT INTO item VALUES (1)")

	// The password changes, then the Secret: the units come back with the new one.
	before := w.pod("shop-unit-0").UID
	w.exec(super, fmt.Sprintf("ALTER ROLE %s PASSWORD 'second'", owner))
	w.rotate("second")
	w.eventually("a restart with the new password", func(context.Context) error {
		var pod corev1.Pod
		err := w.get("shop-unit-0", &pod)
		if err == nil && pod.UID == before {
			err = fmt.Errorf("it has not been restarted")
		}
		return err
	})
	w.awaitReady(2)
	conn = w.connect(w.ownersURL("second", "shop"))
	w.exec(conn, "INSERT INTO item VALUES (2); SET freshet.freshness = 'strong'; SET freshet.route = 'columnar'")
	w.eventually("both rows on the replica", func(ctx context.Context) error {
		var n int
		err := conn.QueryRow(ctx, "SELECT count(*) FROM item").Scan(&n)
		if err == nil && n != 2 {
			err = fmt.Errorf("%d rows", n)
		}
		return err
	})
	w.leavesWhileStale("shop-unit-0")
}

// leavesWhileStale stops a unit's engine, and requires the unit to leave the Service, and to come back when the engine goes on.
func (w *world) leavesWhileStale(unit string) {
	w.t.Helper()
	signal := func(s syscall.Signal) {
		w.t.Helper()
		w.signal(w.pod(unit), s, "freshet-engine")
	}
	signal(syscall.SIGSTOP)
	w.await(v1alpha1.ConditionReplicasFresh, metav1.ConditionFalse, "UnitsStale")
	w.eventually("one unit in the Service", func(context.Context) error { return w.serving(1) })
	signal(syscall.SIGCONT)
	w.awaitReady(2)
	w.eventually("two units in the Service", func(context.Context) error { return w.serving(2) })
}

// serving returns an error unless so many pods are in the endpoint's Service.
func (w *world) serving(want int) error {
	var slices discoveryv1.EndpointSliceList
	if err := w.List(context.WithoutCancel(w.t.Context()), &slices, client.InNamespace(w.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: "shop"}); err != nil {
		return err
	}
	have := 0
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if ptr.Deref(e.Conditions.Ready, false) {
				have++
			}
		}
	}
	if have != want {
		return fmt.Errorf("%d units are in the Service, want %d", have, want)
	}
	return nil
}

func (w *world) postgresURL(role, password, host, database string) string {
	return fmt.Sprintf("postgresql://%s:%s@%s.%s.svc:5432/%s?sslmode=prefer", role, password, host, w.namespace, database)
}

// ownersURL leads to the database by its own host, or by that of the endpoint.
func (w *world) ownersURL(password, host string) string {
	return w.postgresURL(owner, password, host, owner)
}

// rotate gives the Secret another password.
func (w *world) rotate(password string) {
	w.t.Helper()
	var s corev1.Secret
	w.change(&s, databaseSecret, func() { s.Data = map[string][]byte{"uri": []byte(w.ownersURL(password, databaseHost))} })
}

// external is a cluster beside the user's database.
func external(units int32) *v1alpha1.HTAPCluster {
	c := builtin(units)
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EngineExternal, External: &v1alpha1.ExternalSpec{
		ConnectionSecretRef: v1alpha1.SecretReference{Name: databaseSecret},
	}}
	return c
}

// startDatabase runs a PostgreSQL that the operator knows nothing of.
func (w *world) startDatabase() {
	w.t.Helper()
	const user = 999
	directory := func(name, path string) (corev1.Volume, corev1.VolumeMount) {
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}, corev1.VolumeMount{Name: name, MountPath: path}
	}
	data, dataMount := directory("data", "/var/lib/postgresql")
	run, runMount := directory("run", "/var/run/postgresql")
	meta := bystander(databaseHost)
	w.create(&corev1.Service{
		ObjectMeta: meta,
		Spec:       corev1.ServiceSpec{Selector: meta.Labels, Ports: []corev1.ServicePort{{Port: 5432, TargetPort: intstr.FromInt32(5432)}}},
	})
	w.create(&corev1.Pod{
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			SecurityContext: unprivilegedPod(user),
			Volumes:         []corev1.Volume{data, run},
			Containers: []corev1.Container{{
				Name: "postgresql", Image: w.images["postgres"], Args: []string{"postgres", "-c", "wal_level=logical"},
				Env: []corev1.EnvVar{
					{Name: "POSTGRES_USER", Value: superuser}, {Name: "POSTGRES_PASSWORD", Value: "super"},
					{Name: "POSTGRES_INITDB_ARGS", Value: "--encoding=UTF8 --locale=C.UTF-8"}, {Name: "PGDATA", Value: "/var/lib/postgresql/data"},
				},
				VolumeMounts:    []corev1.VolumeMount{dataMount, runMount},
				Resources:       corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}},
				SecurityContext: unprivileged(),
			}},
		},
	})
}
