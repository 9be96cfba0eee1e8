// Package engine runs statements on the columnar engine over its native protocol.
//
// Invariant: a [Conn] either works or is closed. After an error that is not the
// engine's own answer ([Refused]), nothing is known of the engine's state, and
// whoever kept volatile state there must begin anew.
package engine
