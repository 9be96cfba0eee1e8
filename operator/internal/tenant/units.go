package tenant

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/apply"
	"github.com/freshet-io/freshet/operator/internal/manifest"
)

// progress is how far the units of a cluster are with a file of tenants.
type progress struct {
	// ready units are in service; applied of them use the file.
	ready, applied int
	// behind names one that does not, refuses is what one says against the file.
	behind, refuses string
}

func (p progress) say() (reason, message string) {
	switch {
	case p.refuses != "":
		return ReasonUnitsRefuse, p.refuses
	case p.behind != "":
		return ReasonUnitsBehind, fmt.Sprintf("%d of %d units in service use it, %s does not yet", p.applied, p.ready, p.behind)
	case p.ready == 0:
		return ReasonNoUnits, "no unit is in service; each that starts will use it: see the HTAPCluster's conditions"
	}
	return ReasonApplied, "every unit in service uses it"
}

// spread asks every unit whether it uses the file with the given digest, and makes the kubelets of those that do not look.
func (r *Reconciler) spread(ctx context.Context, c *v1alpha1.HTAPCluster, digest string) (progress, error) {
	var p progress
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(c.Namespace), client.MatchingLabels(manifest.Selector(c))); err != nil {
		return p, fmt.Errorf("list pods of units: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" || !pod.DeletionTimestamp.IsZero() {
			continue
		}
		status, err := r.Units.Status(ctx, pod.Status.PodIP)
		if err != nil {
			if manifest.PodReady(pod) { // it is in service, and nobody knows what it uses
				p.ready++
				p.behind = pod.Name
			}
			continue
		}
		uses := status.Tenants.Digest == digest
		if !uses {
			if err := r.nudge(ctx, pod, digest); err != nil {
				return p, err
			}
		}
		if !status.Ready {
			continue
		}
		p.ready++
		switch {
		case uses:
			p.applied++
		case status.Tenants.Problem != "":
			p.refuses = pod.Name + ": " + status.Tenants.Problem
		default:
			p.behind = pod.Name
		}
	}
	return p, nil
}

// nudges is how often a kubelet is made to look for one file: it may have looked before it knew of the ConfigMap's change.
const nudges = 4

// nudge changes the annotation by which a pod's kubelet is made to look at its mounted ConfigMaps.
func (r *Reconciler) nudge(ctx context.Context, pod *corev1.Pod, digest string) error {
	last, count, _ := strings.Cut(pod.Annotations[manifest.TenantsSeen], "/")
	n, err := strconv.Atoi(count)
	if last != digest || err != nil {
		n = 0
	}
	if n >= nudges {
		return nil // the kubelet looks by itself once a minute
	}
	after := pod.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	after.Annotations[manifest.TenantsSeen] = fmt.Sprintf("%s/%d", digest, n+1)
	if err := r.Client.Patch(ctx, after, client.MergeFrom(pod), apply.Owner); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("annotate pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
