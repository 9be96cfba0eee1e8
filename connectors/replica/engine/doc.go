// Package engine is one connection to the columnar engine by its native protocol, for the replica, which must know
// whether the engine's state is lost.
//
// Invariant: a [Conn] either works or is closed. After an error that is not the
// engine's own answer ([Refused]), nothing is known of the engine's state, and
// whoever kept volatile state there must begin anew.
package engine
