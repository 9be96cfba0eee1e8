package cockroachdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/freshet-io/freshet/connectors/jsonrow"
)

const (
	dayMicros   = 86_400_000_000
	pgEpochDays = 10957 // 2000-01-01 in days since 1970-01-01
	// The timestamps that PostgreSQL has, in µs since 2000-01-01: from 4714-11-24 BC until before 294277-01-01.
	leastTimestamp = -211_813_488_000_000_000
	endTimestamp   = 9_223_371_331_200_000_000
)

var (
	infinity         = "infinity"
	negativeInfinity = "-infinity"
)

// appendTimestamp reads a timestamp without time zone.
func appendTimestamp(b, text []byte) ([]byte, error) { return appendMicros(b, text, false) }

// appendInstant reads a timestamp with time zone.
func appendInstant(b, text []byte) ([]byte, error) { return appendMicros(b, text, true) }

// appendMicros reads "2026-02-02T23:05:06.789012", with "Z" or "+01:00" behind it if zoned, as µs since
// 2000-01-01. Years are astronomical and may have a sign and more than four digits.
func appendMicros(b, text []byte, zoned bool) ([]byte, error) {
	switch string(text) {
	case infinity:
		return binary.BigEndian.AppendUint64(b, math.MaxInt64), nil
	case negativeInfinity:
		return binary.BigEndian.AppendUint64(b, 1<<63), nil
	}
	days, rest, ok := scanDate(text)
	if !ok || len(rest) == 0 || rest[0] != 'T' {
		return b, jsonrow.ErrMisfit
	}
	micros, rest, ok := scanTime(rest[1:])
	if !ok {
		return b, jsonrow.ErrMisfit
	}
	offset, ok := scanZone(rest, zoned)
	if !ok {
		return b, jsonrow.ErrMisfit
	}
	t := (days-pgEpochDays)*dayMicros + micros - offset
	if t < leastTimestamp || t >= endTimestamp {
		return b, fmt.Errorf("%w: the timestamp is out of range", jsonrow.ErrMisfit)
	}
	return binary.BigEndian.AppendUint64(b, uint64(t)), nil
}

// appendDate reads "2026-02-02", "0044-03-15 BC" or an infinity as days since 2000-01-01.
func appendDate(b, text []byte) ([]byte, error) {
	switch string(text) {
	case infinity:
		return binary.BigEndian.AppendUint32(b, math.MaxInt32), nil
	case negativeInfinity:
		return binary.BigEndian.AppendUint32(b, 1<<31), nil
	}
	text, bc := bytes.CutSuffix(text, []byte(" BC"))
	if bc { // there is no year 0: 1 BC is the astronomical 0
		days, rest, ok := scanDateFrom(text, true)
		if !ok || len(rest) != 0 {
			return b, jsonrow.ErrMisfit
		}
		return binary.BigEndian.AppendUint32(b, uint32(int32(days-pgEpochDays))), nil
	}
	days, rest, ok := scanDate(text)
	if !ok || len(rest) != 0 {
		return b, jsonrow.ErrMisfit
	}
	return binary.BigEndian.AppendUint32(b, uint32(int32(days-pgEpochDays))), nil
}

// appendTime reads "04:05:06.789", up to "24:00:00", as µs.
func appendTime(b, text []byte) ([]byte, error) {
	micros, rest, ok := scanTime(text)
	if !ok || len(rest) != 0 {
		return b, jsonrow.ErrMisfit
	}
	return binary.BigEndian.AppendUint64(b, uint64(micros)), nil
}

func scanDate(text []byte) (days int64, rest []byte, ok bool) { return scanDateFrom(text, false) }

// scanDateFrom reads a date as days since 1970-01-01; bc counts years backwards from 1 BC.
func scanDateFrom(text []byte, bc bool) (days int64, rest []byte, ok bool) {
	negative := false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative, text = text[0] == '-', text[1:]
	}
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	year, ok := parseDigits(text[:n], 7)
	text = text[n:]
	if !ok || n < 4 || len(text) < 6 || text[0] != '-' || text[3] != '-' {
		return 0, nil, false
	}
	month, okMonth := two(text[1:])
	day, okDay := two(text[4:])
	y := int64(year)
	switch {
	case bc:
		y = 1 - y
	case negative:
		y = -y
	}
	if !okMonth || !okDay || month < 1 || month > 12 || day < 1 || day > daysIn(y, month) {
		return 0, nil, false
	}
	return civilDays(y, month, day), text[6:], true
}

// daysIn is the number of days in a month of the proleptic Gregorian calendar.
func daysIn(year, month int64) int64 {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// civilDays counts days since 1970-01-01, years from March, so that the leap day is a year's last.
func civilDays(year, month, day int64) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era := year / 400
	if year < 0 {
		era = (year - 399) / 400
	}
	ofEra := year - era*400
	ofYear := (153*(month-3)+2)/5 + day - 1
	return era*146097 + ofEra*365 + ofEra/4 - ofEra/100 + ofYear - 719468
}

// scanTime reads "04:05:06.789012" as µs. Digits beyond the sixth must be zero.
func scanTime(text []byte) (micros int64, rest []byte, ok bool) {
	if len(text) < 8 || text[2] != ':' || text[5] != ':' {
		return 0, nil, false
	}
	hour, okHour := two(text)
	minute, okMinute := two(text[3:])
	second, okSecond := two(text[6:])
	if !okHour || !okMinute || !okSecond || hour > 24 || minute > 59 || second > 59 {
		return 0, nil, false
	}
	micros = ((hour*60+minute)*60 + second) * 1_000_000
	text = text[8:]
	if len(text) > 1 && text[0] == '.' && text[1] >= '0' && text[1] <= '9' {
		text = text[1:]
		unit := int64(100_000)
		for len(text) > 0 && text[0] >= '0' && text[0] <= '9' {
			if unit == 0 && text[0] != '0' {
				return 0, nil, false
			}
			micros += unit * int64(text[0]-'0')
			unit /= 10
			text = text[1:]
		}
	}
	return micros, text, micros <= dayMicros
}

// scanZone reads what follows a time: nothing, or if zoned "Z" or "±hh:mm[:ss]", as µs east of UTC.
func scanZone(text []byte, zoned bool) (micros int64, ok bool) {
	switch {
	case !zoned:
		return 0, len(text) == 0
	case len(text) == 1 && text[0] == 'Z':
		return 0, true
	case len(text) != 6 && len(text) != 9 || text[0] != '+' && text[0] != '-' || text[3] != ':':
		return 0, false
	}
	hour, okHour := two(text[1:])
	minute, okMinute := two(text[4:])
	seconds, okSeconds := (hour*60+minute)*60, true
	if len(text) == 9 {
		var s int64
		s, okSeconds = two(text[7:])
		seconds += s
		okSeconds = okSeconds && text[6] == ':'
	}
	if text[0] == '-' {
		seconds = -seconds
	}
	return seconds * 1_000_000, okHour && okMinute && okSeconds
}

// two reads two digits.
func two(b []byte) (int64, bool) {
	if len(b) < 2 || b[0] < '0' || b[0] > '9' || b[1] < '0' || b[1] > '9' {
		return 0, false
	}
	return int64(b[0]-'0')*10 + int64(b[1]-'0'), true
}
