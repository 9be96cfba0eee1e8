// Package kafkafaults lets everything between a transaction and a snapshot fail when changes come over Kafka: the broker, Kafka
// Connect, the gateway, the columnar engine and PostgreSQL are killed (-9) at random instants under full load, the broker
// is suspended, and the connector is given other settings while it works. No snapshot may ever break a promise of the
// workload, and afterwards every table of the replica must equal PostgreSQL's row for row.
package kafkafaults
