//go:build kubernetes

package manager

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// archived returns a cluster with a builtin database that has an archive.
func archived() *v1alpha1.HTAPCluster {
	c := &v1alpha1.HTAPCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.Spec.OLTP = v1alpha1.OLTPSpec{Engine: v1alpha1.EnginePostgreSQL, PostgreSQL: &v1alpha1.PostgreSQLSpec{Archive: &v1alpha1.ArchiveSpec{}}}
	return c
}

// startDatabase waits for the builtin database's StatefulSet and runs its pod, which the namespace refuses unless it is restricted.
func (w *world) startDatabase() *appsv1.StatefulSet {
	w.t.Helper()
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "DatabaseStarting")
	var set appsv1.StatefulSet
	if err := w.get("shop-oltp", &set); err != nil {
		w.t.Fatal(err)
	}
	w.run("shop-oltp-0", set.Spec.Template, "10.0.1.1")
	set.Status.Replicas, set.Status.ReadyReplicas = 1, 1
	if err := w.Status().Update(w.t.Context(), &set); err != nil {
		w.t.Fatal(err)
	}
	return &set
}

// backupOf is a Job of the CronJob.
func backupOf(of *batchv1.CronJob, name string) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: *of.Spec.JobTemplate.ObjectMeta.DeepCopy(), Spec: *of.Spec.JobTemplate.Spec.DeepCopy()}
	job.Name = name
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(of, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
	return job
}

// backupJob plays the CronJob's controller: a Job of it, with a condition.
func (w *world) backupJob(name string, of *batchv1.CronJob, condition batchv1.JobConditionType) {
	w.t.Helper()
	job := backupOf(of, name)
	w.create(job)
	job.Status.StartTime = ptr.To(metav1.Now())
	before := []batchv1.JobConditionType{batchv1.JobFailureTarget}
	if condition == batchv1.JobComplete {
		before[0], job.Status.CompletionTime = batchv1.JobSuccessCriteriaMet, ptr.To(metav1.Now())
	}
	for _, c := range append(before, condition) {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue})
	}
	if err := w.Status().Update(w.t.Context(), job); err != nil {
		w.t.Fatal(err)
	}
}

func TestCluster_archivesItsDatabase(t *testing.T) {
	w := newWorld(t)
	c := archived()
	w.create(c)
	w.startDatabase()
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	var backups batchv1.CronJob
	if err := w.get("shop-oltp-archive", &backups); err != nil {
		t.Fatal(err)
	}
	w.run("shop-oltp-archive-1", backups.Spec.JobTemplate.Spec.Template, "10.0.1.2") // the namespace refuses pods that are not restricted
	w.isSteady()

	at := metav1.NewTime(time.Date(2026, 11, 20, 2, 5, 0, 0, time.UTC))
	backups.Status.LastSuccessfulTime, backups.Status.LastScheduleTime = &at, &at
	if err := w.Status().Update(t.Context(), &backups); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		if err := w.get("shop", c); err != nil {
			return err
		}
		if got := c.Status.LastBackup; got == nil || !got.Equal(&at) {
			return fmt.Errorf("the last backup is of %v, want %v", got, at)
		}
		return nil
	})
	w.backupJob("shop-oltp-archive-2", &backups, batchv1.JobFailed)
	w.wake()
	got := w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "BackupFailed")
	const want = "base backup shop-oltp-archive-2 failed; see kubectl logs job/shop-oltp-archive-2, and take another by kubectl create job --from=cronjob/shop-oltp-archive NAME"
	if said := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionOLTPReady).Message; said != want {
		t.Errorf("OLTPReady says %q, want %q", said, want)
	}
	w.isSteady()
}

func TestCluster_saysThatABaseBackupDoesNotBegin(t *testing.T) {
	w := newWorld(t)
	w.create(archived())
	w.startDatabase()
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	var backups batchv1.CronJob
	if err := w.get("shop-oltp-archive", &backups); err != nil {
		t.Fatal(err)
	}
	job := backupOf(&backups, "shop-oltp-archive-1")
	w.create(job)
	job.Status.StartTime, job.Status.Active = ptr.To(metav1.NewTime(time.Now().Add(-2*time.Hour))), 1
	runs := func(ready int32) {
		job.Status.Ready = &ready
		if err := w.Status().Update(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	runs(0)
	w.says(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "BackupWaits",
		"base backup shop-oltp-archive-1 has waited for more than 1h0m0s for its pod to run, and no other is begun meanwhile; "+
			"see kubectl describe pods --selector=batch.kubernetes.io/job-name=shop-oltp-archive-1: it runs on the database's node, which must have room for it")
	w.isSteady()
	runs(1) // a large database takes its time
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
}

func TestCluster_endsBackupsWithItsArchive(t *testing.T) {
	w := newWorld(t)
	c := archived()
	w.create(c)
	w.startDatabase()
	if err := w.get("shop", c); err != nil {
		t.Fatal(err)
	}
	before := c.DeepCopy()
	c.Spec.OLTP.PostgreSQL.Archive = nil
	if err := w.Patch(t.Context(), c, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		if err := w.get("shop-oltp-archive", &batchv1.CronJob{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("base backups are still taken: %v", err)
		}
		return nil
	})
	if err := w.get("shop-oltp-archive", &corev1.PersistentVolumeClaim{}); err != nil {
		t.Errorf("the archive is gone: %v", err)
	}
}

func TestCluster_keepsItsArchiveAsItsPolicySays(t *testing.T) {
	for policy, owned := range map[v1alpha1.DeletionPolicy]bool{v1alpha1.Retain: false, v1alpha1.Delete: true} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			c := archived()
			c.Spec.DeletionPolicy = policy
			w.create(c)
			w.startDatabase()
			var claim corev1.PersistentVolumeClaim
			if err := w.get("shop-oltp-archive", &claim); err != nil {
				t.Fatal(err)
			}
			if metav1.IsControlledBy(&claim, c) != owned { // what is owned goes with its owner
				t.Errorf("the archive is deleted with the cluster: %t, want %t", !owned, owned)
			}
		})
	}
}

func TestCluster_letsItsArchiveGrow(t *testing.T) {
	w := newWorld(t)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}, Provisioner: "test", AllowVolumeExpansion: ptr.To(true)}
	if err := w.Create(t.Context(), class); err != nil {
		t.Fatal(err)
	}
	c := archived()
	c.Spec.OLTP.PostgreSQL.Archive.Storage.StorageClassName = &class.Name
	w.create(c)
	w.startDatabase()
	var claim corev1.PersistentVolumeClaim
	if err := w.get("shop-oltp-archive", &claim); err != nil {
		t.Fatal(err)
	}
	claim.Spec.VolumeName = "volume" // as its controller binds it
	if err := w.Update(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	claim.Status.Phase = corev1.ClaimBound
	if err := w.Status().Update(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	resize := func(size string) {
		t.Helper()
		w.eventually(func() error {
			if err := w.get("shop", c); err != nil {
				return err
			}
			c.Spec.OLTP.PostgreSQL.Archive.Storage.Size = resource.MustParse(size)
			return w.Update(t.Context(), c)
		})
	}
	resize("150Gi")
	w.eventually(func() error {
		if err := w.get("shop-oltp-archive", &claim); err != nil {
			return err
		}
		if got := claim.Spec.Resources.Requests.Storage().String(); got != "150Gi" {
			return fmt.Errorf("the claim asks for %s", got)
		}
		return nil
	})
	claim.Status.Capacity = claim.Spec.Resources.Requests // it has grown
	if err := w.Status().Update(t.Context(), &claim); err != nil {
		t.Fatal(err)
	}
	resize("120Gi")
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, "TaskFailed")
	resize("150Gi")
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionTrue, "Replicable")
}

func TestCluster_makesItsDatabaseOfAnArchive(t *testing.T) {
	w := newWorld(t)
	c := archived()
	c.Spec.OLTP.PostgreSQL.Recovery = &v1alpha1.RecoverySpec{ClaimName: "old-oltp-archive", TargetTime: ptr.To(metav1.NewTime(time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)))}
	w.create(c)
	w.awaitCondition(v1alpha1.ConditionOLTPReady, metav1.ConditionFalse, "DatabaseStarting")
	var set appsv1.StatefulSet
	if err := w.get("shop-oltp", &set); err != nil {
		t.Fatal(err)
	}
	pod := w.run("shop-oltp-0", set.Spec.Template, "10.0.1.1")
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: "recover", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "LOG: starting\nno base backup\n"}},
	}}
	if err := w.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.eventually(func() error {
		if err := w.get("shop", c); err != nil {
			return err
		}
		const want = "pod shop-oltp-0 is not ready: container recover waits: CrashLoopBackOff back-off; it failed: no base backup"
		if said := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionOLTPReady).Message; said != want {
			return fmt.Errorf("OLTPReady says %q, want %q", said, want)
		}
		return nil
	})
	set.Status.Replicas, set.Status.ReadyReplicas = 1, 1
	if err := w.Status().Update(t.Context(), &set); err != nil {
		t.Fatal(err)
	}
	w.startUnits(fresh)
	w.awaitCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "Ready")
	w.databases.change(func(d *databases) {
		if len(d.provisioned) != 1 { // the old cluster's roles get the passwords of this one's Secrets
			t.Errorf("roles were provisioned %d times, want once", len(d.provisioned))
		}
	})
}
