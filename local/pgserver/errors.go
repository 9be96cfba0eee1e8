package pgserver

import "fmt"

// PortError says that the port is taken.
type PortError struct {
	Port int
	Err  error
}

func (e *PortError) Error() string {
	return fmt.Sprintf("start PostgreSQL: port %d is taken: %v; end what listens there or choose another port", e.Port, e.Err)
}

// Unwrap returns the error of listening.
func (e *PortError) Unwrap() error { return e.Err }

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
