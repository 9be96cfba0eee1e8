// Package affinity pins goroutines to CPUs.
//
// Invariant: a pinned goroutine's thread runs no other goroutine and ends with it.
package affinity
