package replica

import (
	"sync/atomic"
	"time"
)

// wear adds up what the scans of a base have lost to the rows that are masked in it. To rewrite the base costs the same whenever it is done,
// and pays once scans have lost as much: a table that is read while it changes is rewritten often, one that nobody reads hardly
// ever. What this costs is at most twice what it would cost to know the scans to come (the ski-rental problem; Karlin, Manasse, Rudolph and
// Sleator, "Competitive snoopy caching", 1988). It is safe for concurrent use.
type wear struct{ lost atomic.Int64 }

const (
	// maskedTime is about what a scan loses to a row that is masked.
	maskedTime = 30 * time.Nanosecond
	// rewriteTime is about what rewriting a base takes for each byte on disk.
	rewriteTime = 3 * time.Nanosecond
	// maxMasked is the part of a base that may be masked while nobody reads it, 1/maxMasked.
	maxMasked = 3
	// rewriteShare bounds the time that goes into bases which are rewritten because they are read, 1/rewriteShare: a
	// query that finds its rows by the key loses less than is reckoned here.
	rewriteShare = 20
)

// scanned notes a scan of a base that has so many masked rows.
func (w *wear) scanned(masked int64) { w.lost.Add(masked * int64(maskedTime)) }

// pays reports whether rewriting a base of so many bytes costs no more than what was lost. The size may be unknown, 0.
func (w *wear) pays(bytes int64) bool { return bytes > 0 && w.lost.Load() >= bytes*int64(rewriteTime) }
