package ch

import (
	"bufio"
	"strconv"
	"time"
)

// timestampLayout is PostgreSQL's text form of a timestamp.
const timestampLayout = "2006-01-02 15:04:05"

// rows writes rows in the text format of COPY. The values that the generators make need no escaping.
type rows struct {
	out   *bufio.Writer
	line  []byte
	count func()
}

func (r *rows) field() {
	if len(r.line) > 0 {
		r.line = append(r.line, '\t')
	}
}

func (r *rows) int(values ...int) *rows {
	for _, v := range values {
		r.field()
		r.line = strconv.AppendInt(r.line, int64(v), 10)
	}
	return r
}

func (r *rows) text(s string) *rows {
	r.field()
	r.line = append(r.line, s...)
	return r
}

// make appends what f appends.
func (r *rows) make(f func([]byte) []byte) *rows {
	r.field()
	r.line = f(r.line)
	return r
}

// decimal appends v / 10^scale.
func (r *rows) decimal(v, scale int) *rows {
	r.field()
	if v < 0 {
		r.line = append(r.line, '-')
		v = -v
	}
	unit := 1
	for range scale {
		unit *= 10
	}
	r.line = strconv.AppendInt(r.line, int64(v/unit), 10)
	r.line = append(r.line, '.')
	fraction := v % unit
	for unit /= 10; unit > 0; unit /= 10 {
		r.line = append(r.line, byte('0'+fraction/unit%10))
	}
	return r
}

func (r *rows) time(t time.Time) *rows {
	r.field()
	r.line = t.AppendFormat(r.line, timestampLayout)
	return r
}

func (r *rows) null() *rows { return r.text(`\N`) }

// end finishes the row.
func (r *rows) end() error {
	r.line = append(r.line, '\n')
	_, err := r.out.Write(r.line)
	r.line = r.line[:0]
	r.count()
	return err
}
