package cluster

import (
	"github.com/freshet-io/freshet/operator/internal/task"
)

// plan is what makes a cluster what its spec says, in order. Each task does nothing where that is so already, may rely on
// everything above it, and leaves what it saw in the status.
func (r *Reconciler) plan(s *state) []task.Task[*state] {
	if !s.cluster.DeletionTimestamp.IsZero() {
		return []task.Task[*state]{
			{Name: "stop units", Run: r.stopUnits},             // nothing may hold the slots
			{Name: "clean pipeline", Run: r.cleanPipeline},     // connectors, which hold slots, and topics
			{Name: "clean database", Run: r.cleanDatabase},     // slots and publications of all units
			{Name: "retain database", Run: r.retainDatabase},   // by CloudNativePG: its servers end, its volumes stay
			{Name: "end database", Run: r.endDatabase},         // what its StatefulSet would leave, if that is being replaced
			{Name: "release cluster", Run: r.releaseFinalizer}, // everything else is deleted with it
		}
	}
	return []task.Task[*state]{
		{Name: "hold cluster", Run: r.holdFinalizer},         // before there is anything to clean up
		{Name: "find node pools", Run: r.findNodePools},      // or wait for them
		{Name: "provide database", Run: r.provideDatabase},   // builtin: run it; external: read its Secret
		{Name: "inspect database", Run: r.inspectDatabase},   // OLTPReady: can it be replicated?
		{Name: "find pipeline", Run: r.findPipeline},         // transport kafka: read its Secrets
		{Name: "inspect pipeline", Run: r.inspectPipeline},   // PipelineReady: can units stream by it?
		{Name: "issue credentials", Run: r.issueCredentials}, // the engine's password
		{Name: "issue certificate", Run: r.issueCertificate}, // or have it issued, or read it
		{Name: "run units", Run: r.runUnits},                 // configuration, pods, services
		{Name: "run connectors", Run: r.runConnectors},       // by Strimzi: each while its unit's slot is there
		{Name: "observe isolation", Run: r.observeIsolation}, // IsolationApplied: do nodes run both database and units?
		// PipelineReady, ReplicasFresh, SnapshotConsistent; of units that there are even if what comes before is not done, for they go on
		{Name: "observe units", Run: r.observeUnits, Always: len(s.status.Units) > 0},
		{Name: "clean up after units", Run: r.cleanAfterUnits}, // that a smaller number has left in pipeline and database
	}
}
