package replica

import (
	"sync/atomic"
	"time"
)

// wear adds up what scans have lost to the state of what they read: to a base's masked rows and parts, to the blocks of deltas. To merge these costs the same
// whenever it is done, and pays once scans have lost as much (the ski-rental problem; Karlin, Manasse, Rudolph and Sleator, "Competitive
// snoopy caching", 1988: this costs at most twice what it would cost whoever knew all scans to come). A table that is read while it changes is merged
// often, one that nobody reads hardly ever. It is safe for concurrent use.
type wear struct{ lost atomic.Int64 }

const (
	// maskedTime is about what a scan loses to a row that is masked.
	maskedTime = 30 * time.Nanosecond
	// partTime is about what it loses to a part beyond the first, but no more than to so many rows as the base has, at rowTime.
	partTime = time.Millisecond
	rowTime  = 10 * time.Nanosecond
	// mergeByteTime is about what merging a base takes for each byte on disk, mergeLeastTime what it takes at least.
	mergeByteTime  = 3 * time.Nanosecond
	mergeLeastTime = 20 * time.Millisecond
	// blockTime is about what a scan loses to a block of a delta beyond the first, whatever is in it.
	blockTime = 40 * time.Microsecond
	// deltaRowTime is about what merging deltas takes for each row, deltaLeastTime what it takes at least.
	deltaRowTime   = 60 * time.Nanosecond
	deltaLeastTime = 5 * time.Millisecond
	// maxMasked is the part of a base that may be masked while nobody reads it, 1/maxMasked.
	maxMasked = 3
	// scanWeight is what the time of a scan, for which somebody waits, counts against that of a merge.
	scanWeight = 3
	// mergeShare bounds the time that goes into merging bases because they are read, 1/mergeShare: a query that finds its
	// rows by the key loses less than is reckoned here.
	mergeShare = 12
)

// scanLoss is what a scan loses to the state of a base of this shape.
func (s shape) scanLoss() time.Duration {
	masked, further := s.physical-s.rows, max(1, s.parts)-1
	return time.Duration(masked)*maskedTime + time.Duration(further)*min(partTime, time.Duration(s.physical)*rowTime)
}

// mergeTime is what merging the base takes; 0 means that it is not known.
func (s shape) mergeTime() time.Duration {
	if s.bytes == 0 {
		return 0
	}
	return mergeLeastTime + time.Duration(s.bytes)*mergeByteTime
}

// scanned notes what a scan has lost.
func (w *wear) scanned(loss time.Duration) { w.lost.Add(int64(loss)) }

// pays reports whether merging, which takes so long, costs no more than what was lost.
func (w *wear) pays(merge time.Duration) bool {
	return merge > 0 && scanWeight*time.Duration(w.lost.Load()) >= merge
}
