// Package jsonrow decodes rows that a message of the change stream holds as JSON objects, one field for each column. Values
// become PostgreSQL's binary send format, which is what copies and the direct stream carry: replicas need not know
// where a row came from.
//
// What a source writes in a way of its own (dates, bytes, documents) it decodes itself, as a [Values]; [Scalars] decodes the rest.
//
// Invariant: a row that does not fit its table's definition exactly is refused with [ErrMisfit], never adapted. Nothing of it is
// kept then, and no number passes through a float.
package jsonrow
