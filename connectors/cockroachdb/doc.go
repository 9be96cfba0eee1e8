// Package cockroachdb is the change source for CockroachDB: a changefeed writes the rows of each table into a Kafka
// topic of its own and resolved timestamps into every partition of every topic; this package puts the rows
// together again as they were committed and hands them over whole, in commit order. Definitions, copies and the
// clock come from CockroachDB itself, behind [Database].
//
// # Cuts
//
// A changefeed delivers at least once and keeps no order between keys, tables or partitions. What it does promise is
// that after a resolved timestamp R in a partition no row comes there for the first time whose timestamp is R or before.
// Therefore:
//
//   - Rows wait, sorted by their timestamp (updated, or source.ts_hlc), until the least resolved timestamp over all
//     partitions of all topics has passed them. That is the cut. In memory first, then in files.
//   - Rows of one timestamp are handed over as one transaction. Several transactions that were committed at one
//     timestamp are one unit: nothing can lie between them.
//   - A row at or before the last cut has been handed over: it was delivered again, and is dropped. So is one that
//     waits already, by table, key and timestamp.
//   - Partitions are listed after a resolved timestamp was read and before anything is cut by it: rows that precede it in a
//     partition not yet known would be lost otherwise. A new partition holds the cut until it has a resolved timestamp too.
//
// # Insert, update, delete
//
// The changefeed runs with diff, so that a row says whether it was there before its timestamp. A row that was made and
// deleted in one transaction comes as a delete of a row that was not there, which is no change. A schema backfill
// sends rows again at the time of the backfill: they are updates, dropped wherever the table is copied anew.
//
// # Positions and resumption
//
// A position is an HLC: wall nanoseconds and logical time. [Source.Bookmark] adds, for each partition, the
// offset at or after which every row beyond the position lies, and the identity of topics and changefeed. With a
// bookmark reading begins there and anything missing is noticed; without one, partitions are searched by the time of
// their messages, which is never before the timestamp of a row in them but for the clocks' differences.
//
// What is missing is never passed over: expired messages, a topic that is gone or was created anew, and a changefeed that
// began after the position end the stream with a [cdc.TerminalError].
//
// The formats and guarantees are those documented for CockroachDB v25.2 to v26.3; no server was at hand to verify them.
package cockroachdb
