package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// rowScanner takes the bytes of a binary COPY, in pieces cut anywhere, and hands over batches of rows.
// It holds one batch: at most batchRows rows, and no more than batchBytes plus one row.
type rowScanner struct {
	columns int
	deliver func(rows []cdc.Row) error

	buf      []byte // from the first byte of the batch on
	scanned  int    // length of the rows in buf that are complete
	started  bool   // the header has been read
	ended    bool   // the trailer has been read
	complete int    // complete rows in buf

	rows   []cdc.Row
	datums []cdc.Datum
}

const (
	batchRows  = 2048
	batchBytes = 1 << 20
)

var copySignature = []byte("PGCOPY\n\xff\r\n\x00")

var errCopyFormat = errors.New("malformed binary copy data")

// Write implements io.Writer for pgconn.CopyTo.
func (s *rowScanner) Write(p []byte) (int, error) {
	s.buf = append(s.buf, p...)
	if !s.started {
		n := len(copySignature) + 8
		if len(s.buf) < n {
			return len(p), nil
		}
		extension := int(binary.BigEndian.Uint32(s.buf[n-4:]))
		if !bytes.HasPrefix(s.buf, copySignature) || extension != 0 {
			return 0, fmt.Errorf("%w: unknown header", errCopyFormat)
		}
		s.buf, s.started = append(s.buf[:0], s.buf[n:]...), true
	}
	for {
		size, err := s.rowSize(s.buf[s.scanned:])
		if err != nil {
			return 0, err
		}
		if size == 0 {
			return len(p), nil
		}
		s.scanned += size
		s.complete++
		if s.complete >= batchRows || s.scanned >= batchBytes {
			if err := s.flush(); err != nil {
				return 0, err
			}
		}
	}
}

// rowSize returns the length of the row at the start of b, or 0 while it is incomplete or after the trailer.
func (s *rowScanner) rowSize(b []byte) (int, error) {
	if len(b) < 2 {
		return 0, nil
	}
	n := int16(binary.BigEndian.Uint16(b))
	if n == -1 {
		s.ended = true
		return 0, nil
	}
	if s.ended || int(n) != s.columns {
		return 0, fmt.Errorf("%w: row of %d columns, want %d", errCopyFormat, n, s.columns)
	}
	at := 2
	for range s.columns {
		if len(b) < at+4 {
			return 0, nil
		}
		size := int32(binary.BigEndian.Uint32(b[at:]))
		at += 4
		if size < -1 {
			return 0, fmt.Errorf("%w: value of %d bytes", errCopyFormat, size)
		}
		at += max(int(size), 0)
		if len(b) < at {
			return 0, nil
		}
	}
	return at, nil
}

// flush hands over the complete rows and keeps the incomplete one.
func (s *rowScanner) flush() error {
	if s.complete == 0 {
		return nil
	}
	s.slice()
	if err := s.deliver(s.rows); err != nil {
		return err
	}
	rest := s.buf[s.scanned:]
	if cap(s.buf) > 8*batchBytes && len(rest) < batchBytes {
		s.buf = append(make([]byte, 0, 2*batchBytes), rest...) // after a huge row
	} else {
		s.buf = append(s.buf[:0], rest...)
	}
	s.scanned, s.complete = 0, 0
	return nil
}

// slice points rows at the values in buf.
func (s *rowScanner) slice() {
	if need := s.complete * s.columns; cap(s.datums) < need {
		s.datums = make([]cdc.Datum, need)
	}
	s.rows = s.rows[:0]
	datums, b := s.datums[:s.complete*s.columns], s.buf
	for range s.complete {
		row := datums[:s.columns:s.columns]
		datums = datums[s.columns:]
		b = b[2:]
		for i := range row {
			size := int32(binary.BigEndian.Uint32(b))
			b = b[4:]
			if size < 0 {
				row[i] = cdc.Datum{Kind: cdc.Null}
				continue
			}
			row[i] = cdc.Datum{Kind: cdc.Binary, Data: b[:size:size]}
			b = b[size:]
		}
		s.rows = append(s.rows, row)
	}
}

// finish hands over what is left and makes sure that the data was whole.
func (s *rowScanner) finish() error {
	if err := s.flush(); err != nil {
		return err
	}
	if !s.started || !s.ended || len(s.buf) != 2 {
		return fmt.Errorf("%w: it ends early", errCopyFormat)
	}
	return nil
}
