package cursor

import (
	"errors"
	"math"
)

// Action is what a statement does with a cursor.
type Action uint8

// The actions.
const (
	Fetch Action = iota
	Move
	Close
)

// Direction is where a FETCH or MOVE goes.
type Direction uint8

// The directions. NEXT is Forward 1, PRIOR Backward 1, FIRST Absolute 1 and LAST Absolute -1.
const (
	Forward Direction = iota
	Backward
	Absolute
	Relative
)

// All is the count of FORWARD ALL and BACKWARD ALL.
const All = math.MaxInt64

// Statement is a FETCH, MOVE or CLOSE.
type Statement struct {
	Name      string // of the cursor; empty: CLOSE ALL
	Action    Action
	Direction Direction // but for Close
	Count     int64     // but for Close; negative: the other way, or from the end
}

// Position is where a cursor over a result stands: on the row of that number, from 1; at 0 it is before the first row, and at one more than there
// are behind the last.
type Position int64

// ErrForwardOnly says that a cursor would have to go back that cannot.
var ErrForwardOnly = errors.New("cursor can only scan forward")

// Span are the rows that a statement yields: Count of them from the row First on, upwards, or downwards if Down.
type Span struct {
	First, Count int64
	Down         bool
}

// Go returns the rows that a FETCH yields from a result of the given number of rows, and where the cursor is then; for a MOVE, the Count is how many
// FETCH would have yielded. The rules are those of PostgreSQL's manual and of DoPortalRunFetch in its pquery.c: scrolls says that
// the cursor can go back, else a statement that needs that gets ErrForwardOnly.
func (p Position) Go(s Statement, rows int64, scrolls bool) (Span, Position, error) {
	w := walk{at: int64(p), rows: rows}
	span := w.run(s)
	if w.back && !scrolls {
		return Span{}, p, ErrForwardOnly
	}
	return span, Position(w.at), nil
}

// walk is a cursor on its way.
type walk struct {
	at, rows int64
	back     bool // it went back, or would have where there is nothing
}

func (w *walk) run(s Statement) Span {
	n := s.Count
	switch s.Direction {
	case Absolute:
		return w.absolute(n)
	case Relative:
		switch {
		case n > 0:
			w.forward(n - 1)
			return w.forward(1)
		case n < 0:
			w.backward(-(n + 1))
			return w.backward(1)
		}
	case Backward:
		if n == All && s.Action == Move { // PostgreSQL rewinds
			before := max(w.at-1, 0)
			w.rewind()
			return Span{Count: before}
		}
		n = -n
	}
	switch {
	case n > 0:
		return w.forward(n)
	case n < 0:
		return w.backward(-n)
	case !w.onRow():
		w.back = s.Direction == Backward && s.Action != Move
		return Span{}
	}
	w.back = s.Action != Move // to read it again
	return Span{First: w.at, Count: 1}
}

func (w *walk) absolute(n int64) Span {
	switch {
	case n > 0:
		if n-1 < w.at {
			w.rewind()
		}
		w.forward(n - 1 - w.at)
		return w.forward(1)
	case n < 0:
		w.at = w.rows + 1
		w.backward(-(n + 1))
		return w.backward(1)
	}
	w.rewind()
	return Span{}
}

func (w *walk) onRow() bool { return w.at > 0 && w.at <= w.rows }

func (w *walk) rewind() {
	w.back = w.back || w.at > 0
	w.at = 0
}

// forward goes on by n rows, or behind the last if there are fewer.
func (w *walk) forward(n int64) Span {
	if n <= 0 || w.at > w.rows {
		return Span{}
	}
	s := Span{First: w.at + 1, Count: min(n, w.rows-w.at)}
	if n > w.rows-w.at {
		w.at = w.rows + 1
	} else {
		w.at += n
	}
	return s
}

// backward goes back by n rows, or before the first if there are fewer.
func (w *walk) backward(n int64) Span {
	w.back = true
	if n <= 0 || w.at == 0 {
		return Span{}
	}
	s := Span{First: w.at - 1, Count: min(n, w.at-1), Down: true}
	w.at = max(w.at-n, 0)
	return s
}
