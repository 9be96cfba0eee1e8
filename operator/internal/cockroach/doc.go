// Package cockroach looks after a CockroachDB by SQL from the operator's side: it makes the database that is replicated, ends the changefeeds
// that units have left, and tells how its nodes are.
//
// Its statements follow CockroachDB's documentation for v25.2 to v26.3. No server was at hand: they have never met one.
//
// Invariant: only changefeeds whose topics have a cluster's own prefix are canceled.
package cockroach
