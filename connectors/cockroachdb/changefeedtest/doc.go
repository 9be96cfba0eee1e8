// Package changefeedtest imitates CockroachDB's changefeeds, of which no server runs where this product is tested: from known
// transactions it makes the messages that a changefeed may send, under no more than the documented guarantees, in
// any order that these allow.
//
// Invariant: per key the first emission of every version is in the order of timestamps; a resolved timestamp is sent to a
// partition only when every row up to it has been sent to its partition at least once. Nothing else is promised: keys, tables
// and partitions interleave at random, rows come again in any order and with gaps, and new partitions get no resolved
// timestamp for a while.
package changefeedtest
