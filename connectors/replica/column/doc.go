// Package column turns the values of a change stream into columns of the
// columnar engine: one typed, reusable buffer per column, filled from text or
// binary datums without reflection and without an allocation per row.
//
// Invariant: a value is stored exactly or not at all. What the engine's type
// cannot hold yields [ErrUnrepresentable]; nothing is rounded, clipped or guessed.
package column
