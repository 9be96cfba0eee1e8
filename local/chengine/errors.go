package chengine

import "fmt"

// PortError says that a port is taken.
type PortError struct {
	Port int
	Err  error
}

func (e *PortError) Error() string {
	return fmt.Sprintf("start the columnar engine: port %d is taken: %v; end what listens there or choose another port", e.Port, e.Err)
}

// Unwrap returns the error of listening.
func (e *PortError) Unwrap() error { return e.Err }

// VersionError says that a later version of the engine wrote the data folder.
type VersionError struct {
	DataDir    string
	Have, Want string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("data folder %s was written by columnar engine %s, this is the older %s: use that version of Freshet, "+
		"or delete the folder: it is a replica and is built anew", e.DataDir, e.Have, e.Want)
}

// RunningError says that another engine runs on the data folder.
type RunningError struct{ DataDir string }

func (e *RunningError) Error() string {
	return fmt.Sprintf("a columnar engine already runs on %s: stop it first", e.DataDir)
}
