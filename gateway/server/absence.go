package server

import (
	"fmt"
	"slices"

	"github.com/freshet-io/freshet/connectors/replica"
)

// Absence implements [analytics.Replica].
func (u *unit) Absence(searchPath []string, schema, name string) string {
	i, err := u.get()
	if err != nil {
		return "the " + err.Error()
	}
	if schema != "" {
		searchPath = []string{schema}
	}
	return absence(i.replica.Tables(), searchPath, name, copyWaits(i.source))
}

// absence says why a table is not on the replica; waits is what copies wait for, empty for nothing.
func absence(tables []replica.TableStatus, searchPath []string, name, waits string) string {
	for _, schema := range searchPath {
		at := slices.IndexFunc(tables, func(t replica.TableStatus) bool { return t.Schema == schema && t.Name == name })
		if at < 0 {
			continue
		}
		switch t := tables[at]; t.Phase {
		case replica.PhaseStopped:
			return fmt.Sprintf("the replication of table %s.%s is stopped (%s: %s; %s)", schema, name, t.Stopped.Code, t.Stopped.Detail, t.Stopped.Remedy)
		case replica.PhaseCopying:
			reason := fmt.Sprintf("table %s.%s is being copied to the replica", schema, name)
			if waits != "" {
				reason += ", which waits for " + waits
			}
			return reason
		case replica.PhaseReady: // since the statement was looked at
			return fmt.Sprintf("table %s.%s has only just been copied to the replica", schema, name)
		}
	}
	return fmt.Sprintf("%s is not replicated: it has only just been made, is not a permanent table, or the patterns to include and exclude leave it out", name)
}
