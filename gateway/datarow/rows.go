package datarow

import (
	"encoding/binary"
	"iter"
)

// Rows are DataRow messages, one after the other. The zero value is no rows.
type Rows struct {
	messages []byte
	count    int
}

// Of returns rows that have the given values, nil for NULL.
func Of(rows ...[][]byte) Rows {
	var w Writer
	for _, row := range rows {
		w.Begin(len(row))
		for _, v := range row {
			w.End(append(w.Value(), v...), v != nil)
		}
		w.EndRow()
	}
	return w.Rows()
}

// Messages returns the given number of rows from their messages, as [Rows.Messages] yielded them. It keeps the memory.
func Messages(messages []byte, count int) Rows { return Rows{messages, count} }

// Len is the number of rows.
func (r Rows) Len() int { return r.count }

// Messages are the rows as they are sent. They must not be changed.
func (r Rows) Messages() []byte { return r.messages }

// Split returns the first n rows, or all if there are no more, and what is left.
func (r Rows) Split(n int) (head, rest Rows) {
	if n >= r.count {
		return r, Rows{}
	}
	end := 0
	for range n {
		end += messageSize(r.messages[end:])
	}
	return Rows{r.messages[:end:end], n}, Rows{r.messages[end:], r.count - n}
}

// Values yields the values of each row, nil for NULL. They share the rows' memory.
func (r Rows) Values() iter.Seq[[][]byte] {
	return func(yield func([][]byte) bool) {
		for rest := r.messages; len(rest) > 0; {
			size := messageSize(rest)
			if !yield(values(rest[:size])) {
				return
			}
			rest = rest[size:]
		}
	}
}

const (
	kind      = 'D'
	lengthLen = 4 // of a message or a value
	// headLen is that of what comes before the first value: the kind, the message's length, the number of values.
	headLen = 1 + lengthLen + 2
	null    = 0xffffffff // the length of NULL
)

// messageSize is that of the message at the beginning of b. Its length counts all but the kind.
func messageSize(b []byte) int { return 1 + int(binary.BigEndian.Uint32(b[1:])) }

func values(message []byte) [][]byte {
	out := make([][]byte, binary.BigEndian.Uint16(message[1+lengthLen:]))
	rest := message[headLen:]
	for i := range out {
		n := binary.BigEndian.Uint32(rest)
		rest = rest[lengthLen:]
		if n != null {
			out[i], rest = rest[:n:n], rest[n:]
		}
	}
	return out
}
