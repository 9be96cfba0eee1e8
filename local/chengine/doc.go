// Package chengine runs the columnar engine, a real ClickHouse, as a child process that speaks ClickHouse's HTTP
// and native protocols on the loopback address.
//
// Invariant: only the one user of this package, with its password, can do anything on the engine's ports.
package chengine
