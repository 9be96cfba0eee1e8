package postgres

import (
	"fmt"
	"slices"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// commitMark is a transaction that was told; zero: none.
type commitMark struct {
	Position uint64 `json:"position"` // the end of its commit record
	Time     int64  `json:"time"`     // of its commit, in microseconds since 1970
	// Thinned says that marks which came next were forgotten.
	Thinned bool `json:"thinned,omitzero"`
}

func markOf(c cdc.Commit) commitMark {
	return commitMark{Position: c.Position.Major, Time: c.Time.UnixMicro()}
}

// is reports whether two marks are of one transaction.
func (m commitMark) is(other commitMark) bool {
	return m.Position == other.Position && m.Time == other.Time
}

// commitMarks are transactions in the order in which they were told. They show whether a data folder was put back to an earlier state: the
// server then goes on, on the same timeline, with other transactions, and one that was told is not in its log any more.
type commitMarks []commitMark

// mostMarks bounds how many are kept. Beyond it every second one is forgotten.
const mostMarks = 4096

func (m *commitMarks) add(mark commitMark) {
	*m = (*m)[:m.after(mark.Position-1)] // what was refused is told once more
	if len(*m) >= mostMarks {
		i := 0
		*m = slices.DeleteFunc(*m, func(commitMark) bool { i++; return i%2 == 0 })
		for i := range *m {
			(*m)[i].Thinned = true
		}
	}
	*m = append(*m, mark)
}

// until returns the last one that is not after a position.
func (m commitMarks) until(position uint64) commitMark {
	if i := m.after(position); i > 0 {
		return m[i-1]
	}
	return commitMark{}
}

// forget leaves out what is before that one.
func (m *commitMarks) forget(position uint64) {
	if i := m.after(position); i > 1 {
		*m = slices.Delete(*m, 0, i-1)
	}
}

// after returns the number of those that are not after a position.
func (m commitMarks) after(position uint64) int {
	i, _ := slices.BinarySearchFunc(m, position, func(mark commitMark, p uint64) int {
		if mark.Position <= p {
			return -1
		}
		return 1
	})
	return i
}

// missing is the error of a server whose log lacks the transaction.
func (m commitMark) missing() error {
	return m.restored("the server's log lacks a transaction that the replica has")
}

// stray is the error of a server whose log has a transaction that the replica, which was further already, was not told of.
func (m commitMark) stray() error {
	return m.restored("the server's log has a transaction that was not there when the replica had come further")
}

// restored is the error of a server that the transaction shows to have been restored to an earlier state.
func (m commitMark) restored(finding string) error {
	return &cdc.TerminalError{
		Code: cdc.CodeSourceMismatch,
		Detail: fmt.Sprintf("%s, committed at %s (%s): the server was restored to an earlier state",
			finding, cdc.Position{Major: m.Position}, time.UnixMicro(m.Time).UTC().Format(time.RFC3339Nano)),
		Remedy: cdc.RemedyRecopy,
	}
}

// prove returns an error once the stream has come to a position and has not shown the transaction that it is to show. When it comes to what is new, it
// has shown that the server has all that was told before, and nothing else.
func (st *stream) prove(reached uint64) error {
	switch {
	case st.proved.Load():
	case st.proof != (commitMark{}) && reached >= st.proof.Position:
		return st.proof.missing()
	case reached >= st.from:
		st.proved.Store(true)
		st.src.lineage.shown(st.conn.log.Started)
	}
	return nil
}

// proveBy takes a transaction that comes before what is new.
func (st *stream) proveBy(mark commitMark) error {
	switch {
	case mark.is(st.proof):
		st.proof = commitMark{}
	case st.rows && st.quiet != 0 && mark.Position > st.quiet:
		return mark.stray()
	}
	return nil
}

// confirmed is the position to report: none until the server has shown what was told before. The slot of a server that was restored to an earlier
// state would be moved to where nothing is left to tell it by.
func (st *stream) confirmed() uint64 {
	if !st.proved.Load() {
		return 0
	}
	return st.src.confirmed.Load()
}
