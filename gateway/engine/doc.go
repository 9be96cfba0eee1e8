// Package engine runs statements on the columnar engine over its native protocol.
//
// Invariant: when a query's context ends, the query ends in the engine too; no
// connection is handed to the next query before its last one is over.
package engine
