package finish

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/freshet-io/freshet/gateway/timezone"
)

const (
	microsPerSecond = 1_000_000
	microsPerDay    = 86_400 * microsPerSecond
	// postgresEpochDays are the days from 1970-01-01 to 2000-01-01, PostgreSQL's epoch.
	postgresEpochDays = 10957
)

func binaryDate(dst []byte, days int32) []byte {
	if days != math.MaxInt32 && days != math.MinInt32 {
		days -= postgresEpochDays
	}
	return binary.BigEndian.AppendUint32(dst, uint32(days))
}

func binaryTimestamp(dst []byte, micros int64) []byte {
	if micros != math.MaxInt64 && micros != math.MinInt64 {
		micros -= postgresEpochDays * microsPerDay
	}
	return binary.BigEndian.AppendUint64(dst, uint64(micros))
}

func textDate(dst []byte, days int32) []byte {
	switch days {
	case math.MaxInt32:
		return append(dst, "infinity"...)
	case math.MinInt32:
		return append(dst, "-infinity"...)
	}
	dst, bc := appendDate(dst, int64(days))
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// appendDate writes year-month-day; bc says that the year is one before Christ.
func appendDate(dst []byte, days int64) (_ []byte, bc bool) {
	year, month, day := civil(days)
	if year <= 0 {
		year, bc = 1-year, true
	}
	for limit := int64(1000); limit > 1 && year < limit; limit /= 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, year, 10)
	dst = append(dst, '-')
	dst = appendTwo(dst, month)
	dst = append(dst, '-')
	return appendTwo(dst, day), bc
}

// civil converts days since 1970-01-01 to the proleptic Gregorian calendar; year 0 is 1 BC.
func civil(days int64) (year, month, day int64) {
	// The calendar is counted from 0000-03-01 in eras of 400 years, so that leap days come last.
	z := days + 719468
	era := z / 146097
	if z < 0 {
		era = (z - 146096) / 146097
	}
	dayOfEra := z - era*146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	shifted := (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*shifted+2)/5 + 1
	month = shifted + 3
	if month > 12 {
		month -= 12
	}
	year = yearOfEra + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

func appendTwo(dst []byte, v int64) []byte {
	return append(dst, byte('0'+v/10), byte('0'+v%10))
}

func textTimestamp(dst []byte, micros int64) []byte { return appendTimestamp(dst, micros, "") }

// textTimestampTZ is for sessions in UTC.
func textTimestampTZ(dst []byte, micros int64) []byte { return appendTimestamp(dst, micros, "+00") }

// textZoned writes what the clocks in a zone show, and how far they are ahead of UTC.
func textZoned(dst []byte, micros int64, z *timezone.Zone) ([]byte, error) {
	if micros == math.MaxInt64 || micros == math.MinInt64 {
		return appendTimestamp(dst, micros, ""), nil
	}
	offset, ok := z.Offset(timezone.Second(micros))
	if !ok {
		return dst, errOutsideZone
	}
	return appendTimestamp(dst, micros+offset*microsPerSecond, zoneSuffix(offset)), nil
}

// zoneSuffix is an offset in seconds as PostgreSQL writes it: minutes and seconds only where there are any.
func zoneSuffix(offset int64) string {
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	out := appendTwo([]byte{sign}, offset/3600)
	if offset%3600 != 0 {
		out = appendTwo(append(out, ':'), offset/60%60)
	}
	if offset%60 != 0 {
		out = appendTwo(append(out, ':'), offset%60)
	}
	return string(out)
}

func appendTimestamp(dst []byte, micros int64, zone string) []byte {
	switch micros {
	case math.MaxInt64:
		return append(dst, "infinity"...)
	case math.MinInt64:
		return append(dst, "-infinity"...)
	}
	days, rest := micros/microsPerDay, micros%microsPerDay
	if rest < 0 {
		days, rest = days-1, rest+microsPerDay
	}
	dst, bc := appendDate(dst, days)
	dst = append(dst, ' ')
	dst = textTime(dst, rest)
	dst = append(dst, zone...)
	if bc {
		dst = append(dst, " BC"...)
	}
	return dst
}

// textTime writes hours, minutes, seconds and, without trailing zeros, their fraction.
func textTime(dst []byte, micros int64) []byte {
	seconds, fraction := micros/microsPerSecond, micros%microsPerSecond
	dst = appendTwo(dst, seconds/3600)
	dst = append(dst, ':')
	dst = appendTwo(dst, seconds/60%60)
	dst = append(dst, ':')
	return appendFraction(appendTwo(dst, seconds%60), fraction)
}

// appendFraction writes microseconds behind the seconds, without trailing zeros.
func appendFraction(dst []byte, fraction int64) []byte {
	if fraction == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := int64(100_000); fraction > 0; unit /= 10 {
		dst = append(dst, byte('0'+fraction/unit))
		fraction %= unit
	}
	return dst
}
