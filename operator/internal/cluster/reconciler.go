package cluster

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/apply"
	"github.com/freshet-io/freshet/operator/internal/cockroach"
	"github.com/freshet-io/freshet/operator/internal/database"
	"github.com/freshet-io/freshet/operator/internal/lack"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/task"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

// Databases looks after source databases; see [database.PostgreSQL].
type Databases interface {
	Inspect(ctx context.Context, c database.Connection, prefix string, units int) ([]*lack.Lack, error)
	Slots(ctx context.Context, c database.Connection, prefix string) (units []int, err error)
	Clean(ctx context.Context, c database.Connection, prefix string, keep int) (inUse []string, err error)
	Provision(ctx context.Context, superuser database.Connection, owner, units database.Role) error
	SetPassword(ctx context.Context, now, next database.Connection) error
	LimitSlots(ctx context.Context, superuser database.Connection, most string) error
}

// Pipelines looks after Kafka and Kafka Connect; see [pipeline.Kafka].
type Pipelines interface {
	Inspect(ctx context.Context, t debezium.Transport) ([]*lack.Lack, error)
	Clean(ctx context.Context, t debezium.Transport, prefix string, keep int) error
}

// Cockroaches looks after CockroachDBs by SQL; see [cockroach.Servers].
type Cockroaches interface {
	Prepare(ctx context.Context, r cockroach.Root, t cockroach.Target) error
	EndChangefeeds(ctx context.Context, r cockroach.Root, prefix string, keep int) error
	Nodes(ctx context.Context, r cockroach.Root) ([]cockroach.Node, error)
}

// Units asks units how they do; see [unit.Client].
type Units interface {
	Status(ctx context.Context, ip string) (unit.Status, error)
}

// How often a cluster is looked at when nothing that is watched changes. Units, databases and Secrets are not watched. A unit that ends
// or falls behind turns unready, and pods are watched: when all is well, there are only changed Secrets, tables that stopped and a database that
// was reconfigured left to be found.
const (
	whenReady = 30 * time.Second
	whenNot   = 2 * time.Second
)

// Reconciler makes HTAPClusters real.
type Reconciler struct {
	Client client.Client
	// Reader reads from the API server itself, what a cache may not have yet, and Watched what is watched, claims of clusters too.
	Reader      client.Reader
	Watched     client.Reader
	Databases   Databases
	Pipelines   Pipelines
	Cockroaches Cockroaches
	Units       Units
	Images      manifest.Images
	Events      events.EventRecorder
	// Clock is the time by which certificates are issued.
	Clock func() time.Time

	// applier is that of one run.
	applier *apply.Applier
	late    *lateWatches
}

// Reconcile runs a cluster's plan and writes down what it saw.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var c v1alpha1.HTAPCluster
	if err := r.Client.Get(ctx, request.NamespacedName, &c); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	s := newState(&c, r.Images)
	before := c.DeepCopy()
	again, runErr := task.Run(ctx, r.forOneRun().plan(s), s)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err()
	}
	s.conclude()
	if runErr != nil {
		s.isNot(v1alpha1.ConditionReady, ReasonTaskFailed, "%v", runErr)
	}
	if err := r.writeStatus(ctx, before, s); err != nil {
		return ctrl.Result{}, err
	}
	if runErr != nil {
		return ctrl.Result{}, fmt.Errorf("reconcile HTAPCluster %s: %w", request, runErr)
	}
	if again == 0 {
		again = wait.Jitter(whenReady, 0.2) // what was looked at simultaneously after a restart need not be so forever
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// forOneRun returns a reconciler that reads a Secret once.
func (r *Reconciler) forOneRun() *Reconciler {
	run := *r
	run.Client = newReadOnce(r.Client)
	run.applier = apply.New(run.Client)
	return &run
}

// writeStatus writes the status if it changed, and tells of conditions that did.
func (r *Reconciler) writeStatus(ctx context.Context, before *v1alpha1.HTAPCluster, s *state) error {
	if equality.Semantic.DeepEqual(before.Status, *s.status) {
		return nil
	}
	after := before.DeepCopy()
	after.Status = *s.status
	err := r.Client.Status().Patch(ctx, after, client.MergeFrom(before), apply.Owner)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write status of HTAPCluster %s/%s: %w", before.Namespace, before.Name, err)
	}
	if err == nil {
		r.tell(before, s)
	}
	return nil
}

// tell makes an event, and a line in the log, of each condition that is another than before.
func (r *Reconciler) tell(before *v1alpha1.HTAPCluster, s *state) {
	for _, c := range s.status.Conditions {
		old := meta.FindStatusCondition(before.Status.Conditions, c.Type)
		if old != nil && old.Status == c.Status && old.Reason == c.Reason || c.Status == metav1.ConditionUnknown {
			continue
		}
		kind := corev1.EventTypeWarning
		if c.Status == metav1.ConditionTrue {
			kind = corev1.EventTypeNormal
		}
		r.Events.Eventf(s.cluster, nil, kind, c.Reason, c.Type, "%s is %s: %s", c.Type, c.Status, c.Message)
	}
}
