// Package sourcetest holds what every [cdc.Source] must pass: a model of the
// replicated tables built from nothing but the source's copy and stream, random
// transactions to feed it, and the comparison with the database itself.
//
// Invariant: the model is strict. An insert of a row that is there, an update or delete of a row
// that is not, a commit out of order or a change outside its transaction are violations, not repairs: a
// source that loses or repeats a change cannot pass.
package sourcetest
