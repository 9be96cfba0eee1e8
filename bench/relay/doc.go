// Package relay measures what the gateway's relay costs: pgbench's SELECT-only script through the gateway,
// through PgBouncer in session mode and on PostgreSQL directly, in turn.
//
// Invariant: the three ways are measured on one server, one after the other in each round, so that drift of the machine
// cancels; the figure that counts is their ratio.
package relay
