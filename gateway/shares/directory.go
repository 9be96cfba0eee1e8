package shares

import "sync/atomic"

// Directory holds the table in force. The zero Directory is not usable; see [NewDirectory]. It is safe for concurrent use.
type Directory struct{ current atomic.Pointer[edition] }

// edition is a table, and a channel that is closed when another takes its place.
type edition struct {
	table   *Table
	changed chan struct{}
}

// NewDirectory returns a directory of one tenant, [Everyone].
func NewDirectory() *Directory {
	everyone, _ := NewTable(nil) // nothing that could be wrong
	d := &Directory{}
	d.current.Store(&edition{everyone, make(chan struct{})})
	return d
}

// Table returns the table in force.
func (d *Directory) Table() *Table { return d.current.Load().table }

// Of returns the tenant of a user.
func (d *Directory) Of(user string) *Tenant { return d.Table().Of(user) }

// Set puts a table in force: for queries that arrive, and shares and concurrency also for those that wait.
func (d *Directory) Set(t *Table) {
	close(d.current.Swap(&edition{t, make(chan struct{})}).changed)
}
