// Package invariant checks on consistent snapshots what a workload promises: each check is a query that
// returns the rows that break a promise, and all checks of a snapshot run in one read-only transaction.
//
// Invariant: a snapshot counts as checked only if every check ran on it to its end.
package invariant
