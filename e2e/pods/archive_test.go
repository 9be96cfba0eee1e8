//go:build e2e

package pods

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

func TestArchive_recoversADatabaseInPods(t *testing.T) {
	t.Parallel() // it leaves the machine alone for most of its time
	w := newWorld(t)
	c := builtin(1)
	c.Spec.OLTP.PostgreSQL.Archive = &v1alpha1.ArchiveSpec{Storage: v1alpha1.StorageSpec(c.Spec.OLTP.PostgreSQL.Storage), Keep: 2}
	w.start(c)
	conn := w.connect(w.directAs("shop-oltp-superuser"))
	w.exec(conn, "CREATE TABLE item(id int PRIMARY KEY); ALTER TABLE item OWNER TO freshet_app; INSERT INTO item SELECT generate_series(1, 1000)")
	w.takeBackup("first")
	w.exec(conn, "INSERT INTO item SELECT generate_series(1001, 2000)")
	target := w.afterBackup(conn)
	w.exec(conn, "DELETE FROM item")
	w.archived(conn)

	began := time.Now()
	again := builtin(1)
	again.Name = "again"
	again.Spec.OLTP.PostgreSQL.Recovery = &v1alpha1.RecoverySpec{ClaimName: "shop-oltp-archive", TargetTime: &target}
	w.create(again)
	t.Cleanup(func() { w.removeOther("again") })
	w.eventually("the recovered cluster", func(context.Context) error {
		if err := w.get("again", again); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(again.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("conditions %+v", again.Status.Conditions)
		}
		return nil
	})
	t.Logf("another HTAPCluster with recovery to Ready: %.1f s", time.Since(began).Seconds())
	w.requireRows("again-oltp", 2000)
	w.requireRows("shop-oltp", 0)
}

// takeBackup takes a base backup now, as a person does, and waits until status tells of it.
func (w *world) takeBackup(name string) {
	w.t.Helper()
	if err := Command(w.t.Context(), "kubectl", "create", "job", "--namespace", w.namespace, "--from=cronjob/shop-oltp-archive", name); err != nil {
		w.t.Fatal(err)
	}
	w.eventually("a base backup", func(ctx context.Context) error {
		var job batchv1.Job
		if err := w.get(name, &job); err != nil {
			return err
		}
		if !slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
			return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
		}) {
			return fmt.Errorf("it is not complete: %+v", job.Status)
		}
		return nil
	})
	w.await(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready", func(c *v1alpha1.HTAPCluster) error {
		if c.Status.LastBackup == nil {
			return errors.New("the status does not tell of a base backup")
		}
		return nil
	})
}

// afterBackup is a time after all base backups and what was committed.
func (w *world) afterBackup(conn *pgx.Conn) metav1.Time {
	w.t.Helper()
	w.exec(conn, "SELECT pg_sleep_until(date_trunc('second', clock_timestamp()) + interval '2 s')")
	var now time.Time
	if err := conn.QueryRow(w.t.Context(), "SELECT date_trunc('second', clock_timestamp())").Scan(&now); err != nil {
		w.t.Fatal(err)
	}
	w.exec(conn, "SELECT pg_sleep_until(date_trunc('second', clock_timestamp()) + interval '1 s')") // a time in the API has no parts of a second
	return metav1.NewTime(now)
}

// archived waits until all of the log is in the archive.
func (w *world) archived(conn *pgx.Conn) {
	w.t.Helper()
	var last string
	if err := conn.QueryRow(w.t.Context(), "SELECT pg_walfile_name(pg_current_wal_insert_lsn())").Scan(&last); err != nil {
		w.t.Fatal(err)
	}
	w.exec(conn, "SELECT pg_switch_wal()")
	w.eventually("the log in the archive", func(ctx context.Context) error {
		var seen string
		err := conn.QueryRow(ctx, "SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver").Scan(&seen)
		if err == nil && seen < last {
			err = fmt.Errorf("up to %s, not to %s", seen, last)
		}
		return err
	})
}

// requireRows requires so many rows of the database that a Secret leads to.
func (w *world) requireRows(secret string, want int) {
	w.t.Helper()
	var got int
	if err := w.connect(w.directAs(secret)).QueryRow(w.t.Context(), "SELECT count(*) FROM item").Scan(&got); err != nil || got != want {
		w.t.Errorf("%s has %d rows, error %v, want %d", secret, got, err, want)
	}
}

// removeOther deletes a cluster beside the test's first, and waits until it is gone.
func (w *world) removeOther(name string) {
	w.t.Helper()
	if w.t.Failed() {
		w.show(w.t.Output(), w.namespace)
	}
	other := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}}
	if err := w.Delete(context.Background(), other); err != nil {
		w.t.Error(err)
	}
	w.eventually("the end of "+name, func(context.Context) error {
		if err := w.get(name, other); !apierrors.IsNotFound(err) {
			return errors.Join(errors.New("it is still there"), err)
		}
		return nil
	})
}
