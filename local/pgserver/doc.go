// Package pgserver runs a real PostgreSQL server from a folder of binaries: it initialises the data folder,
// starts, stops and kills the server, and finds out why one cannot start.
//
// Invariant: a data folder exists complete or not at all, and no server is started on one
// that another server uses or that another major version wrote.
package pgserver
