// Package kafka says how to reach a Kafka cluster: addresses, TLS and SASL, from a file or from the environment, as
// options of the client that all sources on Kafka use.
//
// Invariant: a secret or certificate that is given by file is read again for each connection, so that rotating it
// needs no restart; and no error or log line holds a secret.
package kafka
