// Package postgres is the change source for PostgreSQL 14 and later. It reads
// pgoutput directly from a logical replication slot, copies tables on the
// snapshot that a temporary slot exports, and follows the catalog.
//
// Invariants:
//
//   - A copy taken at position P holds exactly the transactions whose commit record ends at or
//     before P; the stream hands over exactly the others. Positions are the LSNs of commit
//     record ends.
//   - A table is announced only after the publication has it, and copied only after
//     it was announced, so that nothing falls between copy and stream. Its version names the rows by which the publication
//     has it: under one version the stream has all changes since the copy, whoever was down in between.
//   - The slot never moves past what [Source.Confirm] was told.
//   - A table that cannot be replicated is not in the publication: publishing a table without a
//     replica identity would make the application's UPDATEs fail.
//
// What runs when: [Source.Stream] owns three goroutines beside the one that reads. The pulse
// asks how far the write-ahead log is and keeps watermarks honest, the reporter tells the server what is
// confirmed, the watcher follows the catalog. All end before Stream returns. A [Source] at rest owns
// nothing but its connection pool.
//
// PostgreSQL streams no DDL. A definition that changed is noticed either by
// the relation message that precedes the next change (in stream order), or by the watcher within
// one catalog interval. Neither comes in time for a query: a copy is current only if its table's version is the one
// that [Source.Versions] returns after the query's snapshot was taken. Verified on PostgreSQL 18.
//
// Minor releases before 14.18, 15.13, 16.9 and 17.5 may go on leaving out the changes of a table that is published while a transaction which has
// written to it is open: for its later changes their decoder keeps what it knew of the table before. A SHARE ROW EXCLUSIVE lock would keep such
// transactions off, and make all others wait to write as long as it waits itself, so none is taken.
package postgres
