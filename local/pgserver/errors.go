package pgserver

import "fmt"

// VersionError says that another major version of PostgreSQL wrote the data folder.
type VersionError struct {
	DataDir    string
	Have, Want string // major versions
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("data folder %s was written by PostgreSQL %s, this is PostgreSQL %s: "+
		"use another folder, or move the data with that version's pg_dump; the folder was not touched", e.DataDir, e.Have, e.Want)
}

// RunningError says that another server runs on the data folder.
type RunningError struct {
	DataDir string
	PID     int
}

func (e *RunningError) Error() string {
	return fmt.Sprintf("PostgreSQL already runs on %s as process %d: stop it first", e.DataDir, e.PID)
}
