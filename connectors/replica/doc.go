// Package replica keeps a columnar copy of a source's tables and hands out
// snapshots of it.
//
// Every version of a row has a row id. A table is a base, which never changes
// once it is published, and deltas, which bear the rows of later epochs, in the engine's memory or, where a transaction is large, on its disk. A snapshot
// is an epoch and a mask, a dictionary in the engine that tells by row id which rows
// are dead: of each table it has the rows that were born in the epoch or before, without
// those. A mask stays as it is while a snapshot has it. Publishing an epoch therefore disturbs no reader of an older one.
// Compaction builds the next base beside the others; the epoch record names the
// bases that a restart begins from, everything else in the engine is void then.
//
// Three goroutines share the work of a [session]: the stream's handler stages
// rows, the publisher writes them and publishes epochs, the compactor builds
// bases, writes the record and drops what nobody can see. A fourth copies tables
// that appear later, a fifth keeps the digests of steady columns.
//
// Invariant: a [Snapshot] holds whole transactions only, the same ones in all of
// its tables, for as long as it is retained, or it yields errors; and no snapshot
// is older than one that was handed out before it.
package replica
