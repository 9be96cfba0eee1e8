// Package bench measures what Freshet promises, each benchmark against a set-up of its own: transactions and analytics
// side by side, staleness, the power of applying changes, and the penalty of scanning what is being updated.
//
// Invariant: figures that are compared come from one run on one set-up, in phases that take turns, so that drift of the
// machine cancels.
package bench
