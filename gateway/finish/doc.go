// Package finish turns the columnar engine's result columns into PostgreSQL's
// text and binary values: display scale of numerics, blank padding, date and
// time formats, booleans.
//
// Invariant: the bytes are those that PostgreSQL's output and send functions
// would have produced for the same value under the same session settings.
// A setting that is not handled is refused when the decoder is made.
package finish
