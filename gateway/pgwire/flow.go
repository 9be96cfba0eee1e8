package pgwire

import "sync"

// flow follows the conversation from both directions: what PostgreSQL still
// owes the client, and the transaction status that it last reported.
//
// Invariant: when quiet reports true, PostgreSQL has answered everything that
// was sent to it and waits for the next message.
type flow struct {
	mu          sync.Mutex
	outstanding int      // Query, Sync and FunctionCall messages without their ReadyForQuery
	syncs       int      // how many of those are Syncs
	copyIn      bool     // PostgreSQL reads COPY data, and ignores Sync meanwhile
	copyEnds    int      // CopyDone and CopyFail sent since the flow was last quiet
	mixing      bool     // one of them is a Query behind messages of the extended protocol without their Sync
	lost        bool     // the count cannot be trusted: nothing is offered any more
	status      txStatus // of the last ReadyForQuery
	errors      uint64
	unitFailed  bool          // an error since the last ReadyForQuery
	waiting     chan struct{} // closed when the flow becomes quiet, or is lost
}

// sent counts a message that PostgreSQL answers by ReadyForQuery, or that ends COPY data.
func (f *flow) sent(kind byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch kind {
	case 'Q', 'F':
		f.outstanding++
	case 'S':
		if !f.copyIn {
			f.outstanding++
			f.syncs++
		}
	case 'c', 'f':
		f.copyIn = false
		f.copyEnds++
	}
}

// mixed is sent for a Query that follows messages of the extended protocol without a Sync. If one of those fails,
// PostgreSQL skips the Query, and the ReadyForQuery after the error may be the Query's or the next Sync's.
func (f *flow) mixed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.unitFailed && f.outstanding == 0: // one of those has: the Query will be skipped
		return
	case f.unitFailed: // one of those, or what came before them
		f.lose()
	}
	f.mixing = true
	f.outstanding++
}

// ready counts a ReadyForQuery.
func (f *flow) ready(status txStatus) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status, f.copyIn, f.unitFailed = status, false, false
	if f.outstanding == 0 {
		f.lose()
		return
	}
	f.outstanding--
	f.syncs = min(f.syncs, f.outstanding)
	if f.outstanding == 0 {
		f.copyEnds, f.mixing = 0, false
		f.wake()
	}
}

// copyInBegan counts the Syncs out that PostgreSQL skips because they came before the COPY data's end.
func (f *flow) copyInBegan() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.copyIn = true
	switch {
	case f.syncs == 0:
	case f.syncs == f.outstanding && f.copyEnds == 0:
		f.outstanding, f.syncs = 0, 0
	default:
		f.lose() // the client sent the data before it was asked to: which Sync was skipped is unknown
	}
}

// failed counts an ErrorResponse.
func (f *flow) failed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errors++
	f.unitFailed = true
	f.copyIn = false
	if f.mixing {
		f.lose()
	}
}

// failing reports an ErrorResponse since the last ReadyForQuery: PostgreSQL skips all up to the next Sync.
func (f *flow) failing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unitFailed
}

func (f *flow) lose() {
	f.lost = true
	f.wake()
}

func (f *flow) wake() {
	if f.waiting != nil {
		close(f.waiting)
		f.waiting = nil
	}
}

// quiet returns the transaction status, and whether the flow is quiet; if not, the
// channel is closed when that may have changed. A lost flow never is quiet and has no channel.
func (f *flow) quiet() (status txStatus, quiet bool, wait <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.lost:
		return txUnknown, false, nil
	case f.outstanding == 0 && !f.copyIn:
		return f.status, true, nil
	case f.outstanding == 0:
		return f.status, false, nil
	}
	if f.waiting == nil {
		f.waiting = make(chan struct{})
	}
	return f.status, false, f.waiting
}

// errorCount returns how many errors PostgreSQL has reported.
func (f *flow) errorCount() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.errors
}

// setStatus notes the status that PostgreSQL reported to the session itself.
func (f *flow) setStatus(status txStatus) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status, f.unitFailed = status, false
}
