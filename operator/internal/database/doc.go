// Package database looks after a source database from the operator's side: whether it can be replicated, and what the
// units have left in it.
//
// Invariant: only slots and publications with a cluster's own prefix are dropped, and never one that is in use.
package database
