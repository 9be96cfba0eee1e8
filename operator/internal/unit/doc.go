// Package unit asks a unit's gateway how it does.
//
// Invariant: an answer is the gateway's own; what cannot be asked is an error, never a state.
package unit
