package column

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// PostgreSQL counts days and microseconds from 2000-01-01, the replica from 1970-01-01.
const (
	epochDays   = 10957
	dayMicros   = 86400 * 1_000_000
	epochMicros = epochDays * dayMicros
)

func decodeDate(d cdc.Datum) (int32, error) {
	if d.Kind == cdc.Binary {
		if len(d.Data) != 4 {
			return 0, malformed("date", d)
		}
		v := int32(binary.BigEndian.Uint32(d.Data))
		if v == math.MaxInt32 || v == math.MinInt32 {
			return v, nil
		}
		return narrowDate(int64(v)+epochDays, d)
	}
	if sign := infinity(d.Data); sign != 0 {
		if sign < 0 {
			return math.MinInt32, nil
		}
		return math.MaxInt32, nil
	}
	s, bc := bytes.CutSuffix(d.Data, []byte(" BC"))
	days, rest, ok := scanDate(s, bc)
	if !ok || len(rest) != 0 {
		return 0, malformed("date", d)
	}
	return narrowDate(days, d)
}

func narrowDate(days int64, d cdc.Datum) (int32, error) {
	if days <= math.MinInt32 || days >= math.MaxInt32 {
		return 0, malformed("date", d)
	}
	return int32(days), nil
}

// decodeTimestamp reads timestamp and timestamptz alike: the first has no zone in its text.
func decodeTimestamp(d cdc.Datum) (int64, error) {
	if d.Kind == cdc.Binary {
		if len(d.Data) != 8 {
			return 0, malformed("timestamp", d)
		}
		v := int64(binary.BigEndian.Uint64(d.Data))
		if v == math.MaxInt64 || v == math.MinInt64 {
			return v, nil
		}
		// The last years before 294277 do not fit once they are counted from 1970.
		if v >= math.MaxInt64-epochMicros {
			return 0, ErrUnrepresentable
		}
		return v + epochMicros, nil
	}
	if sign := infinity(d.Data); sign != 0 {
		if sign < 0 {
			return math.MinInt64, nil
		}
		return math.MaxInt64, nil
	}
	s, bc := bytes.CutSuffix(d.Data, []byte(" BC"))
	days, s, ok := scanDate(s, bc)
	if !ok || len(s) == 0 || s[0] != ' ' {
		return 0, malformed("timestamp", d)
	}
	micros, s, ok := scanTime(s[1:])
	if !ok {
		return 0, malformed("timestamp", d)
	}
	offset, ok := scanOffset(s)
	if !ok {
		return 0, malformed("timestamp", d)
	}
	micros -= offset
	const limit = (math.MaxInt64 - 2*dayMicros) / dayMicros
	if days > limit || days < -limit {
		return 0, ErrUnrepresentable
	}
	return days*dayMicros + micros, nil
}

func decodeTime(d cdc.Datum) (int64, error) {
	if d.Kind == cdc.Binary {
		if len(d.Data) != 8 {
			return 0, malformed("time", d)
		}
		return int64(binary.BigEndian.Uint64(d.Data)), nil
	}
	v, rest, ok := scanTime(d.Data)
	if !ok || len(rest) != 0 {
		return 0, malformed("time", d)
	}
	return v, nil
}

func infinity(s []byte) int {
	switch string(s) {
	case "infinity":
		return 1
	case "-infinity":
		return -1
	}
	return 0
}

// scanDate reads YYYY-MM-DD, with as many digits of the year as there are, as
// days since 1970-01-01.
func scanDate(s []byte, bc bool) (days int64, rest []byte, ok bool) {
	year, s, ok := scanDigits(s, '-')
	if !ok {
		return 0, nil, false
	}
	month, s, ok := scanDigits(s, '-')
	if !ok || month < 1 || month > 12 {
		return 0, nil, false
	}
	day, s, ok := scanDigits(s, 0)
	if !ok || day < 1 || day > 31 {
		return 0, nil, false
	}
	if bc {
		year = 1 - year
	}
	return daysSince1970(year, month, day), s, true
}

// daysSince1970 is the proleptic Gregorian calendar. It counts years from
// March, so that the leap day is a year's last.
func daysSince1970(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	const toMarch0000 = 719468 // days from 0000-03-01 to 1970-01-01
	return 365*year + floorDiv(year, 4) - floorDiv(year, 100) + floorDiv(year, 400) +
		(153*(month-3)+2)/5 + day - 1 - toMarch0000
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// scanTime reads HH:MM:SS[.ffffff] as microseconds.
func scanTime(s []byte) (micros int64, rest []byte, ok bool) {
	h, s, ok := scanDigits(s, ':')
	if !ok {
		return 0, nil, false
	}
	m, s, ok := scanDigits(s, ':')
	if !ok {
		return 0, nil, false
	}
	sec, s, ok := scanDigits(s, 0)
	if !ok {
		return 0, nil, false
	}
	micros = ((h*60+m)*60 + sec) * 1_000_000
	if len(s) > 0 && s[0] == '.' {
		s = s[1:]
		for unit := int64(100_000); len(s) > 0 && s[0] >= '0' && s[0] <= '9'; unit /= 10 {
			if unit == 0 {
				return 0, nil, false
			}
			micros += unit * int64(s[0]-'0')
			s = s[1:]
		}
	}
	return micros, s, true
}

// scanOffset reads the zone of a timestamptz, ±HH[:MM[:SS]], as microseconds east of UTC.
func scanOffset(s []byte) (micros int64, ok bool) {
	if len(s) == 0 {
		return 0, true
	}
	sign := int64(1)
	switch s[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, false
	}
	s = s[1:]
	for unit := int64(3600); ; unit /= 60 {
		if unit == 0 {
			return 0, false
		}
		var v int64
		if v, s, ok = scanDigits(s, 0); !ok {
			return 0, false
		}
		micros += sign * v * unit * 1_000_000
		if len(s) == 0 {
			return micros, true
		}
		if s[0] != ':' {
			return 0, false
		}
		s = s[1:]
	}
}

// scanDigits reads a number and, unless it is zero, the byte that must follow.
func scanDigits(s []byte, after byte) (v int64, rest []byte, ok bool) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		v = v*10 + int64(s[n]-'0')
		n++
	}
	const longest = 10
	if n == 0 || n > longest {
		return 0, nil, false
	}
	s = s[n:]
	if after == 0 {
		return v, s, true
	}
	if len(s) == 0 || s[0] != after {
		return 0, nil, false
	}
	return v, s[1:], true
}
