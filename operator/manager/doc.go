// Package manager composes the operator: its controllers, what they watch, leader election, probes and metrics.
//
// Invariant: Secrets are read when they are needed and never kept in memory; of pods and claims only the operator's own are watched.
package manager
