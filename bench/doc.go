// Package bench measures what Freshet promises: each benchmark of `freshet bench`, against a set-up of its own.
//
// Invariant: figures that are compared come from one run on one set-up, in phases that take turns, so that drift of the
// machine cancels.
package bench
