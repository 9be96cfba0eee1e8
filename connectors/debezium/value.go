package debezium

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/go-faster/jx"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// The type OIDs that are told apart.
const (
	typeBool, typeBytea, typeChar, typeName     = 16, 17, 18, 19
	typeInt8, typeInt2, typeInt4, typeText      = 20, 21, 23, 25
	typeJSON, typeFloat4, typeFloat8            = 114, 700, 701
	typeBPChar, typeVarchar, typeDate, typeTime = 1042, 1043, 1082, 1083
	typeTimestamp, typeTimestampTZ, typeNumeric = 1114, 1184, 1700
	typeUUID, typeJSONB                         = 2950, 3802
)

// placeholder is what Debezium writes for a TOASTed value that an update left alone, by this
// package's connector configuration. It is long enough that no application's value equals it.
const placeholder = "freshet:unchanged:0d0f3a52-6c0b-4b7e-9a55-1f8a51c4e7d3"

// How Debezium writes infinite dates: beyond the dates that PostgreSQL has.
const (
	dateInfinity         = 2146033979
	dateNegativeInfinity = -2147472691
)

const (
	pgEpochDays   = 10957 // 2000-01-01 in days since 1970-01-01
	pgEpochMicros = pgEpochDays * 86_400_000_000
)

var errMisfit = errors.New("the value does not fit the column's type")

// valueDecoder turns JSON values into PostgreSQL's binary send format, which is what copies and the
// direct stream carry: replicas need not know where a row came from.
type valueDecoder struct{ scratch []byte }

// value appends the value at d to arena and returns it as a datum.
func (v *valueDecoder) value(d *jx.Decoder, col *cdc.Column, arena []byte) ([]byte, cdc.Datum, error) {
	if d.Next() == jx.Null {
		return arena, cdc.Datum{Kind: cdc.Null}, d.Null()
	}
	start := len(arena)
	arena, err := v.append(d, col, arena)
	if err != nil {
		return arena[:start], cdc.Datum{}, err
	}
	data := arena[start:len(arena):len(arena)]
	if toastable(col) && isPlaceholder(col, data) {
		return arena[:start], cdc.Datum{Kind: cdc.Unchanged}, nil
	}
	return arena, cdc.Datum{Kind: cdc.Binary, Data: data}, nil
}

// toastable says whether values may be stored out of line and are written as strings that may be the placeholder.
func toastable(col *cdc.Column) bool {
	switch col.Type {
	case typeText, typeVarchar, typeBPChar, typeJSON, typeJSONB, typeBytea:
		return true
	}
	return false
}

func isPlaceholder(col *cdc.Column, data []byte) bool {
	if col.Type == typeJSONB && len(data) > 0 {
		data = data[1:]
	}
	return string(data) == placeholder
}

func (v *valueDecoder) append(d *jx.Decoder, col *cdc.Column, b []byte) ([]byte, error) {
	if col.Enum {
		return d.StrAppend(b)
	}
	switch col.Type {
	case typeBool:
		is, err := d.Bool()
		if is {
			return append(b, 1), err
		}
		return append(b, 0), err
	case typeInt2, typeInt4, typeInt8, typeDate, typeTimestamp, typeTime:
		return appendInteger(d, col.Type, b)
	case typeFloat4, typeFloat8:
		return v.appendFloat(d, col.Type, b)
	case typeText, typeVarchar, typeBPChar, typeJSON:
		return d.StrAppend(b)
	case typeJSONB:
		return d.StrAppend(append(b, 1)) // the version of the format
	}
	var err error
	if v.scratch, err = d.StrAppend(v.scratch[:0]); err != nil {
		return b, err
	}
	switch col.Type {
	case typeNumeric:
		if string(v.scratch) == placeholder {
			return b, fmt.Errorf("%w: a numeric is stored out of line", errMisfit)
		}
		return appendNumeric(b, v.scratch, col.Modifier)
	case typeTimestampTZ:
		return appendInstant(b, v.scratch)
	case typeUUID:
		return appendUUID(b, v.scratch)
	case typeBytea:
		return base64.StdEncoding.AppendDecode(b, v.scratch)
	case typeChar:
		if len(v.scratch) == 0 {
			return append(b, 0), nil
		}
		return append(b, v.scratch...), nil
	}
	return b, fmt.Errorf("%w: type %d is not decoded", errMisfit, col.Type)
}

func appendInteger(d *jx.Decoder, typ uint32, b []byte) ([]byte, error) {
	n, err := d.Int64()
	if err != nil {
		return b, err
	}
	switch typ {
	case typeInt2:
		if n != int64(int16(n)) {
			return b, errMisfit
		}
		return binary.BigEndian.AppendUint16(b, uint16(n)), nil
	case typeInt4:
		if n != int64(int32(n)) {
			return b, errMisfit
		}
		return binary.BigEndian.AppendUint32(b, uint32(n)), nil
	case typeDate:
		switch {
		case n == dateInfinity:
			n = math.MaxInt32
		case n == dateNegativeInfinity:
			n = math.MinInt32
		case n < math.MinInt32+pgEpochDays || n >= dateInfinity:
			return b, errMisfit
		default:
			n -= pgEpochDays
		}
		return binary.BigEndian.AppendUint32(b, uint32(int32(n))), nil
	case typeTimestamp:
		if n != math.MaxInt64 && n != math.MinInt64 {
			if n < math.MinInt64+pgEpochMicros {
				return b, errMisfit
			}
			n -= pgEpochMicros
		}
	case typeTime:
		if n < 0 || n > 86_400_000_000 {
			return b, errMisfit
		}
	}
	return binary.BigEndian.AppendUint64(b, uint64(n)), nil
}

func (v *valueDecoder) appendFloat(d *jx.Decoder, typ uint32, b []byte) ([]byte, error) {
	var err error
	if d.Next() == jx.String {
		v.scratch, err = d.StrAppend(v.scratch[:0])
	} else {
		var n jx.Num
		n, err = d.Num()
		v.scratch = append(v.scratch[:0], n...)
	}
	if err != nil {
		return b, err
	}
	bits := 64
	if typ == typeFloat4 {
		bits = 32
	}
	f, err := strconv.ParseFloat(string(v.scratch), bits)
	if err != nil {
		return b, errMisfit
	}
	if math.IsNaN(f) {
		// PostgreSQL's NaN; Go's has another payload.
		if bits == 32 {
			return binary.BigEndian.AppendUint32(b, 0x7fc00000), nil
		}
		return binary.BigEndian.AppendUint64(b, 0x7ff8000000000000), nil
	}
	if bits == 32 {
		return binary.BigEndian.AppendUint32(b, math.Float32bits(float32(f))), nil
	}
	return binary.BigEndian.AppendUint64(b, math.Float64bits(f)), nil
}

func appendUUID(b, text []byte) ([]byte, error) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return b, errMisfit
	}
	start := len(b)
	b = append(b, make([]byte, 16)...)
	at := start
	for _, part := range [][]byte{text[:8], text[9:13], text[14:18], text[19:23], text[24:]} {
		n, err := hex.Decode(b[at:], part)
		if err != nil {
			return b[:start], errMisfit
		}
		at += n
	}
	return b, nil
}

// appendInstant reads a timestamp with time zone: "2026-02-02T23:05:06.789012Z" with astronomical
// years of at least four digits ("-0043", "+12000"), or an infinity.
func appendInstant(b, text []byte) ([]byte, error) {
	switch string(text) {
	case "infinity":
		return binary.BigEndian.AppendUint64(b, math.MaxInt64), nil
	case "-infinity":
		return binary.BigEndian.AppendUint64(b, 1<<63), nil
	}
	end := 0
	for end < len(text) && (text[end] >= '0' && text[end] <= '9' || end == 0 && (text[0] == '-' || text[0] == '+')) {
		end++
	}
	year, err := strconv.Atoi(string(text[:end]))
	if err != nil || year < -4800 || year > 294_276 {
		return b, errMisfit
	}
	rest := text[end:]
	const form = "-00-00T00:00:00"
	if len(rest) <= len(form) || rest[len(rest)-1] != 'Z' {
		return b, errMisfit
	}
	for i, c := range []byte(form) {
		if c == '0' && (rest[i] < '0' || rest[i] > '9') || c != '0' && rest[i] != c {
			return b, errMisfit
		}
	}
	two := func(at int) int { return int(rest[at]-'0')*10 + int(rest[at+1]-'0') }
	micros, err := parseFraction(rest[len(form) : len(rest)-1])
	if err != nil {
		return b, err
	}
	month, day, hour, minute, second := two(1), two(4), two(7), two(10), two(13)
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59 {
		return b, errMisfit
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if t.Day() != day {
		return b, errMisfit
	}
	return binary.BigEndian.AppendUint64(b, uint64(t.Unix()*1_000_000+micros-pgEpochMicros)), nil
}

// parseFraction reads what follows the seconds: nothing, or a point and up to six digits, as µs.
func parseFraction(text []byte) (int64, error) {
	if len(text) == 0 {
		return 0, nil
	}
	if text[0] != '.' || len(text) < 2 || len(text) > 7 || !digits(text[1:]) {
		return 0, errMisfit
	}
	var micros int64
	for i := range 6 {
		micros *= 10
		if i+1 < len(text) {
			micros += int64(text[i+1] - '0')
		}
	}
	return micros, nil
}
