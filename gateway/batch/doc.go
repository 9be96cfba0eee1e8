// Package batch is the dispatcher of one replica unit: it runs queued analytical
// queries in batches, each batch on one snapshot.
//
// The loop, after BatchDB (Makreshanski et al., SIGMOD 2017, section 3): take
// what is queued, publish the newest complete epoch, start the batch on it,
// wait until it no longer matters that others join. Queries that arrive while a batch runs
// share the next snapshot. Identical queries of one snapshot run once. A query
// that would hold the batch up keeps its snapshot and is no longer waited for. One whose client does not read on yields its
// place in the engine to others.
//
// Invariant: a query sees one snapshot from its first to its last row, and
// publishing never waits for a query.
package batch
