// Package kafka runs one Kafka broker and one Kafka Connect worker with the Debezium connector on one machine,
// as children on the loopback address with folders of their own.
//
// Invariant: a broker that is started again on its folder, also after SIGKILL, has every record that it acknowledged to
// a producer before: what SIGKILL leaves in the page cache is not lost.
//
// Verified with Kafka 4.3.1 and Debezium 3.7.0.Final on Java 17.
package kafka
