package cdc

// Log identifies the write-ahead log that positions belong to. A position means the same changes in logs that are equal; in another log it may
// mean others.
type Log struct {
	// Timeline is PostgreSQL's: a server that is promoted or restored from a backup begins one of its own.
	Timeline uint64
	// Started is when the server was started, in seconds since 1970 as it prints them. A data folder that was put back to an earlier state
	// meanwhile stays on its timeline.
	Started string
}
