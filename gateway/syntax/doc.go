// Package syntax reads SQL by PostgreSQL's own grammar, and says what a statement is as far as no catalog is needed for that: whether it may write, whether it
// may be a read of the replica, which functions and operators it names.
//
// Invariant: what may change data or a session's state is never said to be harmless. A text that the grammar does not know may be anything.
package syntax
