// Command freshet-engine serves the columnar engine: it loads the engine's library and opens its HTTP and native
// ports until it gets SIGTERM or SIGINT. It needs no C compiler to build.
//
// Invariant: "ready" is written to the file descriptor --ready-fd only after both ports accept connections.
package main
