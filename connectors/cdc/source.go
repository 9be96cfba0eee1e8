package cdc

import "context"

// Source is a database's change stream together with consistent copies of its tables.
type Source interface {
	// Tables lists the tables that the source's include and exclude patterns select. A table that
	// cannot be replicated comes with the reason. It prepares what the stream needs (publication, slot).
	Tables(ctx context.Context) ([]Discovered, error)
	// Copy reads the tables on one consistent snapshot into sink and returns the
	// position at which the copies are exact: a change belongs on top of them if
	// and only if its transaction's position is after it. It is not before what was handed over until the call.
	Copy(ctx context.Context, tables []TableID, sink CopySink) (Position, error)
	// Stream hands over all transactions after from, and goes on until ctx
	// ends or an error. Calls to h are sequential. A h that blocks holds the stream back, never a commit.
	// Losing the stream's history yields a [*TerminalError]; any other error may be met by calling Stream again.
	Stream(ctx context.Context, from Position, h Handler) error
	// Current returns a position that is at or after every transaction
	// whose commit was acknowledged before the call. The stream is guaranteed to reach it soon, also when idle.
	Current(ctx context.Context) (Position, error)
	// Confirm lets the source forget what is at or before p, because the replica holds it durably.
	Confirm(p Position)
}

// Discovered is a table that a source's patterns select.
type Discovered struct {
	Table *Table
	// Stopped says why the table cannot be replicated; nil if it can.
	Stopped *TableError
}

// CopySink receives copied rows. After Begin, several goroutines may call it at once.
type CopySink interface {
	// Begin tells the position of the copy before its first row. A table asked for that is not among tables
	// was altered or dropped since it was announced: Stopped and a new announcement follow, in any order.
	Begin(ctx context.Context, at Position, tables []*Table) error
	// Rows hands over rows of a table, in no order. They are valid during the call only.
	Rows(ctx context.Context, t *Table, rows []Row) error
	// Done says that all calls of Rows for a table have returned. Every table that is not Stopped comes to that.
	Done(ctx context.Context, t *Table) error
	// Stopped says that the copy gives up one table; its rows so far are void, the others go on. A new announcement of the table may have
	// come before, which holds then.
	Stopped(ctx context.Context, id TableID, why *TableError) error
}

// Handler receives a stream. Slices and their data are valid during the call only.
type Handler interface {
	// Changes hands over the next changes of the current transaction, in order. A large transaction comes in several calls.
	Changes(ctx context.Context, changes []Change) error
	// Commit ends the current transaction. A transaction without changes of interest may be left out.
	Commit(ctx context.Context, c Commit) error
	// Watermark comes between transactions only.
	Watermark(ctx context.Context, w Watermark) error
	// Discovered announces, between transactions, a table that appeared or whose definition changed
	// so that its copy must be taken anew; Stopped is set when it cannot go on. Where the definition changed in the middle of
	// a transaction already handed over in part, the rest of that transaction's changes come before, with a *Table not announced yet.
	Discovered(ctx context.Context, d Discovered) error
	// Dropped announces that a table is gone or no longer selected.
	Dropped(ctx context.Context, id TableID) error
}

// Opener is a Handler that makes use of knowing where a transaction ends before it has all of it.
type Opener interface {
	// Open announces a transaction before its first changes, if the source knows where it ends. The position of the transaction's commit is least or a
	// later one. No copy's position lies from least on and before the commit's. So a copy has the transaction if and only if the copy's position is
	// least or a later one.
	Open(least Position)
}

// Bookmarker is a Source that finds its way back from a position better with what it gave out for it: it reads on from
// the right place at once, and can prove more of what is missing. A replica keeps the bookmark with the position.
type Bookmarker interface {
	// Bookmark returns what to keep with p, a position that was handed over and not followed by a later one that was
	// confirmed; nil if there is nothing to keep.
	Bookmark(p Position) []byte
	// Restore is told, before Copy and Stream begin on a state that was kept, the bookmark that was kept with it; nil: there was none, or
	// nothing was kept.
	Restore(bookmark []byte) error
}
