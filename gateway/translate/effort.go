package translate

import (
	"cmp"
	"slices"
	"strings"
)

// whereText writes a WHERE clause of conditions, those of the least effort first. Where a set is searched that may be large the engine is told to take
// them in the order in which they are written; it reads for each what those before it left.
func whereText(conds []expr) string {
	sorted := slices.SortedStableFunc(slices.Values(conds), func(a, b expr) int { return cmp.Compare(a.effort(), b.effort()) })
	return " WHERE " + all(sorted)
}

// effort ranks conditions by what one row costs: a comparison, reading a string, searching a set that may be large.
func (e expr) effort() int {
	switch {
	case strings.Contains(e.sql, " IN "+subselect):
		return 2
	case e.textual:
		return 1
	}
	return 0
}
