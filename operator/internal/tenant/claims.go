package tenant

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/freshet-io/freshet/gateway/shares"
	"github.com/freshet-io/freshet/operator/api/v1alpha1"
)

// Reasons of the conditions Accepted and Applied.
const (
	ReasonAccepted        = "Accepted"
	ReasonClusterNotFound = "ClusterNotFound"
	ReasonUserClaimed     = "UserClaimed"
	ReasonTooManyTenants  = "TooManyTenants"
	ReasonApplied         = "Applied"
	ReasonNotAccepted     = "NotAccepted"
	ReasonNoUnits         = "NoUnits"
	ReasonUnitsBehind     = "UnitsBehind"
	ReasonUnitsRefuse     = "UnitsRefuse"
)

// verdict is what becomes of one tenant.
type verdict struct {
	tenant *v1alpha1.HTAPTenant
	// reason and message say why it is not accepted; empty: it is.
	reason, message string
}

// judge says which of a cluster's tenants are accepted: the older ones first, so that a new one takes nothing away.
func judge(tenants []v1alpha1.HTAPTenant) []verdict {
	sorted := make([]*v1alpha1.HTAPTenant, len(tenants))
	for i := range tenants {
		sorted[i] = &tenants[i]
	}
	slices.SortFunc(sorted, func(a, b *v1alpha1.HTAPTenant) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	out := make([]verdict, len(sorted))
	owners := map[v1alpha1.RoleName]string{}
	accepted := 0
	for i, t := range sorted {
		v := verdict{tenant: t}
		claimed := t.Spec.Users
		if len(claimed) == 0 {
			claimed = []v1alpha1.RoleName{""} // everyone else, whom nobody's name can be
		}
		if accepted >= shares.MaxTenants-1 { // one more is that of everyone else
			v.reason = ReasonTooManyTenants
			v.message = fmt.Sprintf("the cluster has %d older tenants, which is what its gateways take; delete some, or put users together", accepted)
		}
		for _, user := range claimed {
			if owner, ok := owners[user]; ok && v.reason == "" {
				v.reason, v.message = ReasonUserClaimed, claim(user, owner)
			}
		}
		if v.reason == "" {
			accepted++
			for _, user := range claimed {
				owners[user] = t.Name
			}
		}
		out[i] = v
	}
	return out
}

func claim(user v1alpha1.RoleName, owner string) string {
	if user == "" {
		return fmt.Sprintf("HTAPTenant %q, which is older, is that of all users who are in no other; name users here, or there", owner)
	}
	return fmt.Sprintf("user %q is in HTAPTenant %q, which is older; take it out of one of them", user, owner)
}

// render writes the file of the tenants that are accepted.
func render(verdicts []verdict) ([]byte, error) {
	var f shares.File
	for _, v := range verdicts {
		if v.reason == "" {
			f.Tenants = append(f.Tenants, fileTenant(v.tenant))
		}
	}
	slices.SortFunc(f.Tenants, func(a, b shares.FileTenant) int { return cmp.Compare(a.Name, b.Name) })
	return shares.Render(f)
}

func fileTenant(t *v1alpha1.HTAPTenant) shares.FileTenant {
	out := shares.FileTenant{Name: t.Name, Shares: int(t.Spec.Shares), Limits: shares.FileLimits{
		Concurrency: int(t.Spec.Limits.Concurrency), Queue: int(t.Spec.Limits.Queue), Memory: t.Spec.Limits.Memory,
	}}
	for _, user := range t.Spec.Users {
		out.Users = append(out.Users, string(user))
	}
	if limit := t.Spec.Limits.Time; limit != nil {
		out.Limits.Time = duration(*limit)
	}
	if f := t.Spec.Freshness; f != nil {
		out.Freshness = &shares.FileFreshness{Mode: string(f.Mode)}
		if bound := duration(f.MaxStaleness); bound > 0 {
			out.Freshness.MaxStaleness = &bound
		}
	}
	return out
}

func duration(d metav1.Duration) shares.Duration { return shares.Duration(d.Duration) }

// conclude returns the tenant's status: whether it is accepted, and if so whether it is applied, as the units have it.
func (v verdict) conclude(units progress) v1alpha1.HTAPTenantStatus {
	s := *v.tenant.Status.DeepCopy()
	s.ObservedGeneration = v.tenant.Generation
	set := func(condition, reason, message string, ok bool) {
		c := metav1.Condition{Type: condition, Status: metav1.ConditionFalse, Reason: reason, Message: message, ObservedGeneration: v.tenant.Generation}
		if ok {
			c.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&s.Conditions, c)
	}
	if v.reason != "" {
		set(v1alpha1.ConditionAccepted, v.reason, v.message, false)
		set(v1alpha1.ConditionApplied, ReasonNotAccepted, "it is not accepted", false)
		return s
	}
	set(v1alpha1.ConditionAccepted, ReasonAccepted, "no older tenant claims its users", true)
	reason, message := units.say()
	set(v1alpha1.ConditionApplied, reason, message, reason == ReasonApplied)
	return s
}
