// Package definitions tests that a change of definition which no row tells of never leads to an answer that mixes what
// was before it with what was after it: while queries race it, and when it happens while the gateway is down.
package definitions
