// Package server composes one gateway process: the endpoint, the analytical
// route, the replica unit that it feeds and queries, and its monitoring port.
//
// Invariant: the endpoint relays as soon as it listens, whatever the state of the
// replica; and every goroutine has ended when Run returns.
package server
