// Package bank is a workload with one promise: money moves between accounts and the total stays the same.
//
// Invariant: every committed state has the total of the initial one; a snapshot that shows another total has torn a transfer.
package bank
