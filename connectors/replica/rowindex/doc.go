// Package rowindex finds the row id of a table's live row by its key, and
// hands out row ids.
//
// Invariant: an [Index] holds each live key once. A key that seems to be there
// twice is reported, never overwritten: either two keys share a hash, or the
// change stream and the store disagree.
package rowindex
