package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// runArchive provides what the builtin database's pod needs to archive, or to be made of another's archive, and what takes base backups.
func (r *Reconciler) runArchive(ctx context.Context, s *state) error {
	spec := s.cluster.Spec.OLTP.PostgreSQL
	if spec.Archive != nil || spec.Recovery != nil {
		programs, err := s.objects.ArchivePrograms()
		if err != nil {
			return err
		}
		if err := r.own(ctx, s, programs); err != nil {
			return err
		}
	}
	if spec.Archive == nil {
		s.status.LastBackup = nil
		return r.endBackups(ctx, s)
	}
	if err := r.ownWithVolume(ctx, s, s.objects.ArchiveClaim()); err != nil {
		return err
	}
	if err := r.own(ctx, s, s.objects.Backups()); err != nil {
		return err
	}
	s.connection.Archives = true
	backups, err := r.backups(ctx, s)
	if err != nil {
		return err
	}
	s.status.LastBackup = backups.Status.LastSuccessfulTime
	s.backupLack, err = r.failedBackup(ctx, s, backups)
	return err
}

// backups reads what takes base backups; it is empty where there is none.
func (r *Reconciler) backups(ctx context.Context, s *state) (*batchv1.CronJob, error) {
	var backups batchv1.CronJob
	name := types.NamespacedName{Namespace: s.cluster.Namespace, Name: manifest.ArchiveName(s.cluster)}
	if err := r.Client.Get(ctx, name, &backups); client.IgnoreNotFound(err) != nil {
		return &backups, fmt.Errorf("read CronJob %q: %w", name.Name, err)
	}
	return &backups, nil
}

// failedBackup says that the last base backup has failed, or does not begin; nil: neither.
func (r *Reconciler) failedBackup(ctx context.Context, s *state, backups *batchv1.CronJob) (*lack.Lack, error) {
	var jobs batchv1.JobList
	err := r.Client.List(ctx, &jobs, client.InNamespace(s.cluster.Namespace), client.MatchingLabels(s.objects.Backups().Labels))
	if err != nil {
		return nil, fmt.Errorf("list Jobs of CronJob %q: %w", backups.Name, err)
	}
	var last *batchv1.Job
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if metav1.IsControlledBy(job, backups) && (last == nil || last.CreationTimestamp.Before(&job.CreationTimestamp)) {
			last = job
		}
	}
	switch {
	case last == nil:
		return nil, nil
	case r.waits(last):
		return &lack.Lack{
			Reason: ReasonBackupWaits, Detail: fmt.Sprintf("base backup %s has waited for more than %v for its pod to run, and no other is begun meanwhile", last.Name, backupWait),
			Remedy: fmt.Sprintf("see kubectl describe pods --selector=%s=%s: it runs on the database's node, which must have room for it", batchv1.JobNameLabel, last.Name),
		}, nil
	case !slices.ContainsFunc(last.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobFailed && c.Status == corev1.ConditionTrue
	}):
		return nil, nil
	}
	return &lack.Lack{
		Reason: ReasonBackupFailed, Detail: fmt.Sprintf("base backup %s failed", last.Name),
		Remedy: fmt.Sprintf("see kubectl logs job/%s, and take another by kubectl create job --from=cronjob/%s NAME", last.Name, backups.Name),
	}, nil
}

// backupWait is how long the pod of a base backup may take to run.
const backupWait = time.Hour

// waits says that a Job's pod has not run for long.
func (r *Reconciler) waits(job *batchv1.Job) bool {
	return job.Status.StartTime != nil && job.Status.Active > 0 && ptr.Deref(job.Status.Ready, 0) == 0 && r.Clock().Sub(job.Status.StartTime.Time) > backupWait
}

// endBackups takes no more base backups where there is no archive any more. Its claim is left: nobody asked to lose it.
func (r *Reconciler) endBackups(ctx context.Context, s *state) error {
	backups, err := r.backups(ctx, s)
	if err != nil || !metav1.IsControlledBy(backups, s.cluster) {
		return err
	}
	err = r.Client.Delete(ctx, backups, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete CronJob %q: %w", backups.Name, err)
	}
	return nil
}
