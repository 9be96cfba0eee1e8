package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/apply"
	"github.com/freshet-io/freshet/operator/internal/cockroach"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// sizeCockroachDB finds out how many pods the StatefulSet is to have until the database has been asked whether that may change. It is read from
// the API server itself: with an older number from a cache, nodes that are gone would come back.
func (r *Reconciler) sizeCockroachDB(ctx context.Context, s *state) error {
	var set appsv1.StatefulSet
	want := s.cluster.Spec.OLTP.CockroachDB.Replicas
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: s.cluster.Namespace, Name: manifest.OLTPName(s.cluster)}, &set)
	switch {
	case apierrors.IsNotFound(err):
		s.objects.OLTPPods, err = r.orphanedPods(ctx, s, want)
		return err
	case err != nil:
		return fmt.Errorf("read StatefulSet %q: %w", manifest.OLTPName(s.cluster), err)
	}
	if err := s.objects.ReadSize(&set); err != nil {
		return err
	}
	ready, err := r.databaseReady(ctx, s)
	if !ready && s.objects.OLTPLeaving == 0 {
		s.objects.OLTPPods = max(want, s.objects.OLTPPods) // it may need more nodes to answer: volumes of so many were kept
	}
	return err
}

// orphanedPods is how many pods a StatefulSet that is not there is to have: those that one has left, for their nodes are members, else as many as are
// wanted.
func (r *Reconciler) orphanedPods(ctx context.Context, s *state, want int32) (int32, error) {
	var list corev1.PodList
	if err := r.Reader.List(ctx, &list, client.InNamespace(s.cluster.Namespace), client.MatchingLabels(manifest.OLTPSelector(s.cluster))); err != nil {
		return 0, fmt.Errorf("list pods of the database: %w", err)
	}
	var have int32
	for i := range list.Items {
		if number, ok := manifest.PodNumber(manifest.OLTPName(s.cluster), list.Items[i].Name); ok {
			have = max(have, number+1)
		}
	}
	if have == 0 {
		return want, nil
	}
	return have, nil
}

// resizeCockroachDB brings the database a step closer to the number of nodes that it is to have, and says in OLTPReady how far that is. The database
// is in use all the time.
func (r *Reconciler) resizeCockroachDB(ctx context.Context, s *state) error {
	z := resize{want: s.cluster.Spec.OLTP.CockroachDB.Replicas, have: s.objects.OLTPPods, leaving: s.objects.OLTPLeaving, nodes: map[int32]cockroach.Node{}}
	if z.want == z.have && z.leaving == 0 {
		s.isReplicable("")
		return nil
	}
	nodes, err := r.Cockroaches.Nodes(ctx, s.root)
	if err != nil {
		s.isNot(v1alpha1.ConditionOLTPReady, database.ReasonUnreachable, "%s; see the logs of pods %s-*", refusal(s, err), manifest.OLTPName(s.cluster))
		return nil
	}
	for _, n := range nodes {
		number, ok := manifest.CockroachNumber(s.cluster, n.Address)
		if n.Address == "" {
			s.isReplicable("the number of nodes changes when node %d has started", n.ID)
			return nil
		}
		if !ok {
			s.isNot(v1alpha1.ConditionOLTPReady, ReasonDecommissionRefused,
				"node %d is at %q, which is no pod of the cluster; decommission it yourself: cockroach node decommission %d", n.ID, n.Address, n.ID)
			return nil
		}
		z.nodes[number] = n
	}
	switch z.next() {
	case addPods:
		return r.addPods(ctx, s, z)
	case beginLeaving:
		return r.beginLeaving(ctx, s, z)
	case decommission:
		return r.decommission(ctx, s, z)
	case keepNodes:
		return r.keepNodes(ctx, s, z)
	}
	return r.removePods(ctx, s, z)
}

// applySize writes down how many pods there are to be, and which of them go.
func (r *Reconciler) applySize(ctx context.Context, s *state, pods, leaving int32) error {
	s.objects.OLTPPods, s.objects.OLTPLeaving = pods, leaving
	return r.runDatabaseSet(ctx, s, s.objects.CockroachDB())
}

func (r *Reconciler) addPods(ctx context.Context, s *state, z resize) error {
	claims, err := r.databaseClaims(ctx, s, z.have)
	if err != nil {
		return err
	}
	for _, number := range claims {
		if _, member := z.nodes[number]; !member && number < z.want {
			s.isNot(v1alpha1.ConditionOLTPReady, ReasonVolumeLeft,
				"%s-%d holds the volume of a node that is not in the cluster, with which none can start; delete this PersistentVolumeClaim, or set replicas back to %d",
				manifest.OLTPClaim(s.cluster), number, z.have)
			return nil
		}
	}
	s.isReplicable("pods are added until there are %d", z.want)
	return r.applySize(ctx, s, z.want, 0)
}

func (r *Reconciler) beginLeaving(ctx context.Context, s *state, z resize) error {
	if down := z.down(); len(down) > 0 {
		s.isNot(v1alpha1.ConditionOLTPReady, ReasonDecommissionRefused,
			"no node can be taken away while some are down, and these are: %s; let them start, or set replicas back to %d", pods(manifest.OLTPName(s.cluster), down), z.have)
		return nil
	}
	z.leaving = z.want
	if err := r.applySize(ctx, s, z.have, z.leaving); err != nil {
		return err
	}
	if z.next() == removePods {
		return r.removePods(ctx, s, z)
	}
	return r.decommission(ctx, s, z)
}

// decommission runs the Job that moves replicas, and says what hinders it.
func (r *Reconciler) decommission(ctx context.Context, s *state, z resize) error {
	going := z.from(z.leaving)
	if err := r.deleteJob(ctx, s, s.objects.RecommissionName()); err != nil {
		return err
	}
	job, err := r.runJob(ctx, s, s.objects.Decommission(z.ids(going)))
	if err != nil {
		return err
	}
	running, err := r.jobPods(ctx, s, s.objects.DecommissionName())
	if err != nil {
		return err
	}
	stands, err := r.standsStill(ctx, job, z.replicas(going))
	if err != nil {
		return err
	}
	names := pods(manifest.OLTPName(s.cluster), going)
	remedy := fmt.Sprintf("see the log of Job %s, and remove the cause, or set replicas back to %d", s.objects.DecommissionName(), z.have)
	left := atMost(z.replicas(going))
	switch why := failure(running); {
	case why != "":
		s.isNot(v1alpha1.ConditionOLTPReady, ReasonDecommissionRefused, "CockroachDB does not let %s go: %s; %s", names, why, remedy)
	case stands:
		s.isNot(v1alpha1.ConditionOLTPReady, ReasonDecommissionStalled, "%s are decommissioned, and for %v none of their replicas has moved, of which %d at most are left; %s",
			names, stall, left, remedy)
	default:
		s.isReplicable("%s are decommissioned, %d replicas at most are left there", names, left)
	}
	return nil
}

// stall is for how long no replica has moved where something hinders all of them, and progressed how often at most it is written down that some have.
const (
	stall      = 15 * time.Minute
	progressed = time.Minute
)

// progress is the annotation of a Job with the number of replicas that were left, and since when.
const progress = "freshet.io/progress"

// standsStill says whether no replica has moved for long, of which so many are left. What it compares with is written down at the Job.
func (r *Reconciler) standsStill(ctx context.Context, job *batchv1.Job, left int) (bool, error) {
	if job == nil {
		return false, nil
	}
	now := r.Clock()
	text, since, _ := strings.Cut(job.Annotations[progress], " ")
	before, err := strconv.Atoi(text)
	at, timeErr := time.Parse(time.RFC3339, since)
	known := err == nil && timeErr == nil
	if known && left >= before {
		return now.Sub(at) >= stall, nil
	}
	if known && now.Sub(at) < progressed {
		return false, nil
	}
	patch := client.MergeFrom(job.DeepCopy())
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, progress, fmt.Sprintf("%d %s", left, now.UTC().Format(time.RFC3339)))
	if err := r.Client.Patch(ctx, job, patch, apply.Owner); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("write progress to Job %q: %w", job.Name, err)
	}
	return false, nil
}

// keepNodes ends a decommissioning, and what it has done. It would go on if its Job still ran.
func (r *Reconciler) keepNodes(ctx context.Context, s *state, z resize) error {
	s.isReplicable("%s are kept", pods(manifest.OLTPName(s.cluster), z.from(z.leaving)))
	if err := r.deleteJob(ctx, s, s.objects.DecommissionName()); err != nil {
		return err
	}
	running, err := r.jobPods(ctx, s, s.objects.DecommissionName())
	if err != nil || len(running) > 0 {
		return err
	}
	if back := z.back(); len(back) > 0 {
		_, err := r.runJob(ctx, s, s.objects.Recommission(z.ids(back)))
		return err
	}
	if err := r.deleteJob(ctx, s, s.objects.RecommissionName()); err != nil {
		return err
	}
	return r.applySize(ctx, s, z.have, 0)
}

// removePods ends the pods of nodes that are decommissioned. The StatefulSet's controller deletes their volumes; only when these are gone may other
// nodes take the numbers.
func (r *Reconciler) removePods(ctx context.Context, s *state, z resize) error {
	for _, name := range []string{s.objects.DecommissionName(), s.objects.RecommissionName()} {
		if err := r.deleteJob(ctx, s, name); err != nil {
			return err
		}
	}
	if err := r.applySize(ctx, s, z.leaving, z.leaving); err != nil {
		return err
	}
	claims, err := r.databaseClaims(ctx, s, z.leaving)
	if err != nil {
		return err
	}
	if len(claims) > 0 {
		s.isReplicable("nodes are decommissioned, and their pods and volumes go; a PersistentVolumeClaim that stays without a pod is to be deleted by hand: %s",
			pods(manifest.OLTPClaim(s.cluster), claims))
		return nil
	}
	s.isReplicable("nodes are decommissioned, and their pods and volumes are gone")
	return r.applySize(ctx, s, z.leaving, 0)
}

// databaseClaims returns the numbers of the claims of the database's volumes, from one on.
func (r *Reconciler) databaseClaims(ctx context.Context, s *state, first int32) ([]int32, error) {
	claims, err := claimsOf(ctx, r.Reader, s.cluster.Namespace, manifest.OLTPName(s.cluster), manifest.OLTPSelector(s.cluster))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(claims)), func(number int32) bool { return number < first }), nil
}

// runJob runs a Job unless it is there, and returns it where it runs already. One that has ended is deleted: it is needed again, perhaps for
// other nodes.
func (r *Reconciler) runJob(ctx context.Context, s *state, job *batchv1.Job) (*batchv1.Job, error) {
	live, err := r.readJob(ctx, s, job.Name)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return nil, r.own(ctx, s, job)
	}
	for _, c := range live.Status.Conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return nil, r.deleteJob(ctx, s, job.Name)
		}
	}
	return live, nil
}

// deleteJob deletes a Job with its pods, if it is there.
func (r *Reconciler) deleteJob(ctx context.Context, s *state, name string) error {
	job, err := r.readJob(ctx, s, name)
	if err != nil || job == nil {
		return err
	}
	if err := r.Client.Delete(ctx, job, client.PropagationPolicy(metav1.DeletePropagationBackground)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete Job %q: %w", name, err)
	}
	return nil
}

// readJob reads a Job; nil: it is not there.
func (r *Reconciler) readJob(ctx context.Context, s *state, name string) (*batchv1.Job, error) {
	var job batchv1.Job
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: s.cluster.Namespace, Name: name}, &job)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read Job %q: %w", name, err)
	}
	return &job, nil
}

func (r *Reconciler) jobPods(ctx context.Context, s *state, job string) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := r.Reader.List(ctx, &list, client.InNamespace(s.cluster.Namespace), client.MatchingLabels{batchv1.JobNameLabel: job}); err != nil {
		return nil, fmt.Errorf("list pods of Job %q: %w", job, err)
	}
	return list.Items, nil
}

// blocked finds in what the program wrote why replicas cannot move. Around it are numbers that change with each attempt.
var blocked = regexp.MustCompile(`blocked with error: "(.*)"`)

// failure says why a pod of a Job has failed when it last ran; empty: it has not.
func failure(pods []corev1.Pod) string {
	for i := range pods {
		for _, c := range pods[i].Status.ContainerStatuses {
			ended := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
			if ended == nil || ended.ExitCode == 0 {
				continue
			}
			if why := blocked.FindStringSubmatch(ended.Message); why != nil {
				return why[1]
			}
			return fmt.Sprintf("the Job's program ends with code %d", ended.ExitCode)
		}
	}
	return ""
}
