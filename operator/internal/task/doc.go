// Package task runs a reconciliation as an ordered list of tasks.
//
// Invariant: a task runs only when every task before it is done, so that each may rely on what is above it.
package task
