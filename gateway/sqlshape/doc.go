// Package sqlshape names the shape of a statement: its text without the values of its literals.
//
// Statements that differ only in literals have the same shape, so that what is
// known of one of them (may it go to the columnar route, does it write) is known
// of all, without parsing.
//
// Invariant: two statements of one shape have the same syntax tree but for constants.
package sqlshape
