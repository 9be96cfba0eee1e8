package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/task"
)

// poolUse is a node pool that the spec refers to.
type poolUse struct {
	// condition tells what is wrong with it.
	condition string
	ref       *v1alpha1.NodePoolReference
	pool      **v1alpha1.HTAPNodePool
	// cpus are those of the containers that run there, by their fields.
	cpus []cpuField
}

type cpuField struct {
	field string
	cpu   resource.Quantity
}

// findNodePools reads the pools that the spec refers to, and sees that pods can run there as the pools say.
func (r *Reconciler) findNodePools(ctx context.Context, s *state) (task.Result, error) {
	spec := s.cluster.Spec
	oltp, cpus := oltpPool(s.cluster)
	for _, u := range []poolUse{
		{v1alpha1.ConditionPipelineReady, spec.Columnar.NodePoolRef, &s.objects.UnitPool, []cpuField{
			{"columnar.resources.cpu", spec.Columnar.Resources.CPU}, {"gateway.resources.cpu", spec.Gateway.Resources.CPU},
		}},
		{v1alpha1.ConditionOLTPReady, oltp, &s.objects.OLTPPool, cpus},
	} {
		if u.ref == nil {
			continue
		}
		var pool v1alpha1.HTAPNodePool
		err := r.Client.Get(ctx, types.NamespacedName{Name: u.ref.Name}, &pool)
		if apierrors.IsNotFound(err) {
			s.isNot(u.condition, ReasonNodePoolNotFound, "HTAPNodePool %q does not exist; create it, or correct nodePoolRef", u.ref.Name)
			return task.Wait(whenNot), nil
		}
		if err != nil {
			return task.Done, fmt.Errorf("read HTAPNodePool %q: %w", u.ref.Name, err)
		}
		if part := partOfCPU(u.cpus); pool.Spec.CPUPinning && part != nil {
			s.isNot(u.condition, ReasonCPUNotWhole, "HTAPNodePool %q pins CPUs, of which a container has whole ones only, and %s is %s; give whole CPUs, or choose a pool without cpuPinning",
				u.ref.Name, part.field, part.cpu.String())
			return task.Wait(whenNot), nil
		}
		*u.pool = &pool
	}
	return task.Done, nil
}

// partOfCPU returns the first that is no whole number; nil: all are.
func partOfCPU(cpus []cpuField) *cpuField {
	for i := range cpus {
		if cpus[i].cpu.MilliValue()%1000 != 0 {
			return &cpus[i]
		}
	}
	return nil
}

// oltpPool names the node pool of a database that the operator runs, and what its pods have of CPU; nil: none.
func oltpPool(c *v1alpha1.HTAPCluster) (*v1alpha1.NodePoolReference, []cpuField) {
	switch o := c.Spec.OLTP; {
	case o.PostgreSQL != nil:
		return o.PostgreSQL.NodePoolRef, []cpuField{{"oltp.postgresql.resources.cpu", o.PostgreSQL.Resources.CPU}}
	case o.CockroachDB != nil:
		return o.CockroachDB.NodePoolRef, []cpuField{{"oltp.cockroachdb.resources.cpu", o.CockroachDB.Resources.CPU}}
	}
	return nil, nil
}
