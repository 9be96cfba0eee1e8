package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/freshet-io/freshet/operator/api/v1alpha1"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

// observation is what was seen of one unit.
type observation struct {
	name, message, position string
	phase                   v1alpha1.UnitPhase
	staleness               time.Duration
	// code and hindered say what is wrong with replication: a person must act, or it is tried again.
	code     string
	hindered bool
	// stopped and copying are tables that are not in the snapshot.
	stopped, copying []string
	// omitted are columns of tables that are in it.
	omitted []string
}

// judge says what phase a unit is in. Messages hold nothing that changes by itself, for each change is a write.
func judge(name string, s unit.Status, objective time.Duration) observation {
	o := observation{name: name, position: s.Position, staleness: s.Staleness(), hindered: s.Problem != "", message: s.Problem}
	for _, t := range s.Tables {
		for _, c := range t.Omitted {
			o.omitted = append(o.omitted, fmt.Sprintf("%s.%s (%s)", t.Table, c.Column, c.Detail))
		}
		switch {
		case t.Stopped != nil:
			o.stopped = append(o.stopped, fmt.Sprintf("%s (%s: %s; %s)", t.Table, t.Stopped.Code, t.Stopped.Detail, t.Stopped.Remedy))
		case t.Phase == unit.PhaseCopying:
			o.copying = append(o.copying, t.Table)
		}
	}
	switch {
	case s.Stopped != nil:
		o.phase, o.code = v1alpha1.UnitStopped, s.Stopped.Code
		o.message = fmt.Sprintf("%s; %s", s.Stopped.Detail, s.Stopped.Remedy)
	case len(o.copying) > 0 && !s.Ready: // a later table does not keep it from serving
		o.phase = v1alpha1.UnitCopying
	case s.Position == "":
		o.phase = v1alpha1.UnitStarting
	case !s.Ready:
		o.phase = v1alpha1.UnitStale
		o.message = cmp.Or(o.message, fmt.Sprintf("its snapshot is older than %v", objective))
	default:
		o.phase = v1alpha1.UnitFresh
	}
	return o
}

// runs says that the unit's gateway answers.
func (o observation) runs() bool {
	return o.phase != v1alpha1.UnitPending && o.phase != v1alpha1.UnitUnreachable
}

// sumUp writes what was seen of all units into the status.
func sumUp(s *state, seen []observation) {
	fresh, worst := 0, time.Duration(0)
	old := map[string]v1alpha1.UnitStatus{}
	for _, u := range s.status.Units {
		old[u.Name] = u
	}
	s.status.Units = nil
	for _, o := range seen {
		u := v1alpha1.UnitStatus{Name: o.name, Phase: o.phase, Position: o.position, Message: clip(o.message)}
		if was := old[o.name]; was.Phase == u.Phase && u.Position != "" {
			u.Position = was.Position
		}
		if o.position != "" {
			u.Staleness = step(o.staleness)
		}
		s.status.Units = append(s.status.Units, u)
		if o.phase == v1alpha1.UnitFresh {
			fresh++
			worst = max(worst, o.staleness)
		}
	}
	s.status.Fresh = fmt.Sprintf("%d/%d", fresh, len(seen))
	s.status.Staleness = ""
	if fresh > 0 {
		s.status.Staleness = step(worst)
	}
	if !s.told[v1alpha1.ConditionPipelineReady] { // else by what stopped the plan
		pipeline(s, seen)
	}
	freshness(s, seen, fresh)
	consistency(s, seen)
}

// pipeline says whether every unit follows the database's changes.
func pipeline(s *state, seen []observation) {
	reason, messages := "", []string(nil)
	for _, l := range append(slices.Concat(s.pipelineLacks, s.connectorLacks), s.certificateLack, s.unitVolumes.lack()) {
		if l == nil {
			continue
		}
		reason = cmp.Or(reason, l.Reason)
		messages = append(messages, l.Error())
	}
	for _, o := range seen {
		switch {
		case o.code != "":
			reason = o.code // it needs a person, which goes before all else
		case !o.runs():
			reason = cmp.Or(reason, ReasonUnitsNotRunning)
		case o.hindered:
			reason = cmp.Or(reason, ReasonUnitsHindered)
		default:
			continue
		}
		messages = append(messages, o.name+": "+o.message)
	}
	if reason != "" {
		s.isNot(v1alpha1.ConditionPipelineReady, reason, "%s", strings.Join(messages, ". "))
		return
	}
	const streaming = "every unit follows the database's changes"
	if grow := s.unitVolumes.progress(); grow != "" {
		s.is(v1alpha1.ConditionPipelineReady, ReasonResizing, streaming+"; %s", grow)
		return
	}
	s.is(v1alpha1.ConditionPipelineReady, ReasonStreaming, streaming)
}

// freshness says whether every unit meets the objective.
func freshness(s *state, seen []observation, fresh int) {
	objective := s.cluster.Spec.Gateway.Freshness.Objective.Duration
	if fresh == len(seen) {
		s.is(v1alpha1.ConditionReplicasFresh, ReasonFresh, "no unit is staler than %v", objective)
		return
	}
	reason := ReasonUnitsStale
	var names []string
	for _, o := range seen {
		if o.phase == v1alpha1.UnitFresh {
			continue
		}
		names = append(names, fmt.Sprintf("%s is %s", o.name, o.phase))
		if !o.runs() {
			reason = ReasonUnitsNotRunning
		}
	}
	s.isNot(v1alpha1.ConditionReplicasFresh, reason, "%d of %d units serve: %s", fresh, len(seen), strings.Join(names, ", "))
}

// consistency says whether every unit has a snapshot with all tables.
func consistency(s *state, seen []observation) {
	for _, o := range seen {
		switch {
		case len(o.stopped) > 0:
			s.isNot(v1alpha1.ConditionSnapshotConsistent, ReasonTablesStopped, "%s lacks %s. Queries on them go to the database", o.name, strings.Join(o.stopped, ", "))
			return
		case len(o.copying) > 0:
			s.isNot(v1alpha1.ConditionSnapshotConsistent, ReasonTablesCopying, "%s copies %s", o.name, strings.Join(o.copying, ", "))
			return
		case o.position == "":
			s.isNot(v1alpha1.ConditionSnapshotConsistent, ReasonNoSnapshot, "%s has no snapshot yet", o.name)
			return
		}
	}
	const complete = "every unit has a snapshot of all tables"
	for _, o := range seen {
		if len(o.omitted) > 0 {
			s.is(v1alpha1.ConditionSnapshotConsistent, ReasonComplete, "%s. Queries of columns that are left out go to the database: %s",
				complete, strings.Join(o.omitted, ", "))
			return
		}
	}
	s.is(v1alpha1.ConditionSnapshotConsistent, ReasonComplete, complete)
}

// steps are what a staleness is rounded up to.
var steps = []struct {
	upTo time.Duration
	name string
}{
	{time.Second, "1s"}, {2 * time.Second, "2s"}, {5 * time.Second, "5s"}, {10 * time.Second, "10s"}, {30 * time.Second, "30s"},
	{time.Minute, "1m"}, {5 * time.Minute, "5m"}, {10 * time.Minute, "10m"}, {30 * time.Minute, "30m"}, {time.Hour, "1h"},
}

// step rounds a staleness up.
func step(d time.Duration) string {
	for _, s := range steps {
		if d <= s.upTo {
			return s.name
		}
	}
	return ">1h"
}
