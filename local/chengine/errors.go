package chengine

import "fmt"

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
