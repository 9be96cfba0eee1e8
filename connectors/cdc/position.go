package cdc

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Position is a point in a source's commit order. PostgreSQL uses Major for the
// LSN of the end of a commit record and leaves Minor zero; CockroachDB uses Major for the wall
// time of the HLC in nanoseconds and Minor for its logical part.
// The zero Position is before every transaction.
type Position struct {
	Major uint64
	Minor uint32
}

// Compare returns -1, 0 or +1 as p is before, at or after q.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Major, q.Major), cmp.Compare(p.Minor, q.Minor))
}

// Before reports whether p is strictly before q.
func (p Position) Before(q Position) bool { return p.Compare(q) < 0 }

// IsZero reports whether p is the position before every transaction.
func (p Position) IsZero() bool { return p == Position{} }

// String prints the position as PostgreSQL prints an LSN ("16/B374D848"),
// followed by ",minor" where the source uses the minor part.
func (p Position) String() string {
	s := fmt.Sprintf("%X/%X", p.Major>>32, uint32(p.Major))
	if p.Minor != 0 {
		s += "," + strconv.FormatUint(uint64(p.Minor), 10)
	}
	return s
}

// ParsePosition reads what [Position.String] prints.
func ParsePosition(s string) (Position, error) {
	lsn, minor, hasMinor := strings.Cut(s, ",")
	hi, lo, ok := strings.Cut(lsn, "/")
	if !ok {
		return Position{}, fmt.Errorf("parse position %q: want HEX/HEX, as pg_current_wal_lsn() prints it", s)
	}
	h, err := strconv.ParseUint(hi, 16, 32)
	if err != nil {
		return Position{}, fmt.Errorf("parse position %q: %w", s, err)
	}
	l, err := strconv.ParseUint(lo, 16, 32)
	if err != nil {
		return Position{}, fmt.Errorf("parse position %q: %w", s, err)
	}
	p := Position{Major: h<<32 | l}
	if hasMinor {
		m, err := strconv.ParseUint(minor, 10, 32)
		if err != nil {
			return Position{}, fmt.Errorf("parse position %q: %w", s, err)
		}
		p.Minor = uint32(m)
	}
	return p, nil
}
