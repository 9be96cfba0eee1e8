// Package engine runs the gateway's queries on the columnar engine, over a pool of connections by its native protocol.
//
// Invariant: when a query's context ends, the query ends in the engine too; no
// connection is handed to the next query before its last one is over.
package engine
