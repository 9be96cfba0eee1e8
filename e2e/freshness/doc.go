// Package freshness holds the freshness modes to their word, on real servers: strong answers see every commit
// made before them, bounded ones are never older than asked, min_snapshot is reached, eventual ones come
// even when the change stream stands still, and a session reads its own writes.
//
// The stream is made to stand still by stopping PostgreSQL's walsender process with SIGSTOP.
package freshness
