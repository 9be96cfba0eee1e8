package postgres

import "testing"

// What is nobody's fault but one table's must not keep the others from being copied.
func TestCopy_knowsWhoseFaultAFailureIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state, what string
		table, row  bool
	}{
		{"42P01", "undefined table", true, false},
		{"55P03", "lock not available", true, false},
		{"54000", "row larger than a message", false, true},
		{"XX000", "invalid memory alloc request size", false, true},
		{"XX001", "damaged page", false, true},
		{"XX002", "damaged index", false, true},
		{"57P01", "server shuts down", false, false},
		{"53100", "disk full", false, false},
		{"", "connection lost", false, false},
	} {
		if table, row := tableIsAtFault(c.state), rowIsAtFault(c.state); table != c.table || row != c.row {
			t.Errorf("%s (%s): the table's %t, a row's %t; want %t, %t", c.what, c.state, table, row, c.table, c.row)
		}
	}
}
