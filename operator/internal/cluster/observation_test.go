package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/manifest"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

func TestJudge_namesThePhase(t *testing.T) {
	copying := []unit.Table{{Table: "public.t", Phase: unit.PhaseCopying}}
	gone := &unit.Stopped{Code: "SlotLost", Detail: "the slot is gone", Remedy: "reset the replica"}
	for _, c := range []struct {
		name    string
		status  unit.Status
		phase   v1alpha1.UnitPhase
		message string
	}{
		{"fresh", unit.Status{Ready: true, Position: "0/1"}, v1alpha1.UnitFresh, ""},
		{"stale", unit.Status{Position: "0/1", StalenessMS: 7123}, v1alpha1.UnitStale, "its snapshot is older than 5s"},
		{"stale for a reason", unit.Status{Position: "0/1", Problem: "engine is down"}, v1alpha1.UnitStale, "engine is down"},
		{"copying", unit.Status{Position: "0/1", Tables: copying}, v1alpha1.UnitCopying, ""},
		{"copying a later table", unit.Status{Ready: true, Position: "0/1", Tables: copying}, v1alpha1.UnitFresh, ""},
		{"no snapshot", unit.Status{Problem: "engine is down"}, v1alpha1.UnitStarting, "engine is down"},
		{"stopped", unit.Status{Position: "0/1", Tables: copying, Stopped: gone}, v1alpha1.UnitStopped, "the slot is gone; reset the replica"},
	} {
		if o := judge("shop-unit-0", c.status, 5*time.Second); o.phase != c.phase || o.message != c.message {
			t.Errorf("%s: %s, %q; want %s, %q", c.name, o.phase, o.message, c.phase, c.message)
		}
	}
}

func TestSumUp_namesColumnsThatAreLeftOut(t *testing.T) {
	s := newState(&v1alpha1.HTAPCluster{}, manifest.Images{})
	o := judge("a", unit.Status{Ready: true, Position: "0/1", Tables: []unit.Table{{Table: "public.t", Phase: "ready",
		Omitted: []unit.OmittedColumn{{Column: "tags", Detail: "has type text[]"}}}}}, 5*time.Second)
	sumUp(s, []observation{o})
	c := meta.FindStatusCondition(s.status.Conditions, v1alpha1.ConditionSnapshotConsistent)
	const want = "every unit has a snapshot of all tables. Queries of columns that are left out go to the database: public.t.tags (has type text[])"
	if c.Status != "True" || c.Message != want {
		t.Errorf("%s is %s: %s", c.Type, c.Status, c.Message)
	}
}

func TestSumUp_namesTheReasonThatNeedsAPersonFirst(t *testing.T) {
	fresh := observation{name: "a", phase: v1alpha1.UnitFresh, position: "0/1"}
	hindered := observation{name: "b", phase: v1alpha1.UnitFresh, position: "0/1", hindered: true, message: "slow"}
	pending := observation{name: "c", phase: v1alpha1.UnitPending}
	stopped := observation{name: "d", phase: v1alpha1.UnitStopped, position: "0/1", code: "SlotLost"}
	lacking := observation{name: "e", phase: v1alpha1.UnitFresh, position: "0/1", stopped: []string{"public.t"}}
	for _, c := range []struct {
		name                         string
		seen                         []observation
		pipeline, freshness, content string
	}{
		{"all fresh", []observation{fresh}, ReasonStreaming, ReasonFresh, ReasonComplete},
		{"one hindered", []observation{fresh, hindered}, ReasonUnitsHindered, ReasonFresh, ReasonComplete},
		{"one pending", []observation{fresh, pending}, ReasonUnitsNotRunning, ReasonUnitsNotRunning, ReasonNoSnapshot},
		{"pending and stopped", []observation{pending, stopped}, "SlotLost", ReasonUnitsNotRunning, ReasonNoSnapshot},
		{"a table stopped", []observation{lacking}, ReasonStreaming, ReasonFresh, ReasonTablesStopped},
	} {
		s := newState(&v1alpha1.HTAPCluster{}, manifest.Images{})
		sumUp(s, c.seen)
		for condition, want := range map[string]string{
			v1alpha1.ConditionPipelineReady: c.pipeline, v1alpha1.ConditionReplicasFresh: c.freshness, v1alpha1.ConditionSnapshotConsistent: c.content,
		} {
			if got := meta.FindStatusCondition(s.status.Conditions, condition).Reason; got != want {
				t.Errorf("%s: %s has reason %s, want %s", c.name, condition, got, want)
			}
		}
	}
}

func TestSumUp_keepsThePositionWhileThePhaseStays(t *testing.T) {
	s := newState(&v1alpha1.HTAPCluster{}, manifest.Images{})
	for _, step := range []struct {
		phase          v1alpha1.UnitPhase
		position, want string
	}{
		{v1alpha1.UnitFresh, "0/1", "0/1"}, {v1alpha1.UnitFresh, "0/2", "0/1"}, {v1alpha1.UnitStale, "0/3", "0/3"}, {v1alpha1.UnitPending, "", ""},
	} {
		sumUp(s, []observation{{name: "a", phase: step.phase, position: step.position}})
		if got := s.status.Units[0].Position; got != step.want {
			t.Errorf("%s at %s: position is %q, want %q", step.phase, step.position, got, step.want)
		}
	}
}

func TestSumUp_tellsTheStalenessOfEveryUnitThatHasASnapshot(t *testing.T) {
	s := newState(&v1alpha1.HTAPCluster{}, manifest.Images{})
	sumUp(s, []observation{
		{name: "fresh", phase: v1alpha1.UnitFresh, position: "0/9", staleness: 1500 * time.Millisecond},
		{name: "stale", phase: v1alpha1.UnitStale, position: "0/1", staleness: 40 * time.Second},
		{name: "pending", phase: v1alpha1.UnitPending},
	})
	got := map[string]string{"": s.status.Staleness} // the cluster's, of fresh units only
	for _, u := range s.status.Units {
		got[u.Name] = u.Staleness
	}
	if diff := cmp.Diff(map[string]string{"": "2s", "fresh": "2s", "stale": "1m", "pending": ""}, got); diff != "" {
		t.Errorf("staleness (-want +got):\n%s", diff)
	}
}

func TestStep_roundsUp(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "1s", time.Second: "1s", 1001 * time.Millisecond: "2s", 45 * time.Second: "1m", 2 * time.Hour: ">1h"} {
		if got := step(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
