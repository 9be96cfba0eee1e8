// Package process starts and ends the servers that Freshet runs beside itself:
// PostgreSQL, the columnar engine, the gateway, Kafka and Kafka Connect.
//
// Invariant: a process started here never outlives the process that started it,
// and a process id read from a file is only ever signalled after it has been
// verified to be the very process that was recorded.
package process
