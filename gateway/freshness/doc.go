// Package freshness says how fresh an answer must be, and waits until it can be.
//
// The modes: bounded (no older than a given staleness), strong (sees every
// transaction whose commit was acknowledged before the query began), eventual
// (whatever is there). In each of them [Requirement.Min] names a position that the snapshot must have
// reached. Bounded and strong also show the session's own writes; eventual does not.
//
// Invariant: a mode keeps its word or the query fails; it is never silently weakened.
package freshness
