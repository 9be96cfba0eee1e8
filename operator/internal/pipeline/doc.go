// Package pipeline looks after Kafka and Kafka Connect from the operator's side: whether units can stream by them, and what the
// units have left in them.
//
// Invariant: only connectors and topics with a cluster's own prefix are deleted, and those of a unit only when the caller says
// that it is no more.
package pipeline
