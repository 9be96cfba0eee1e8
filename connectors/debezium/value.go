package debezium

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/go-faster/jx"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/jsonrow"
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

// values decodes JSON values as Debezium writes them. It implements [jsonrow.Values].
type values struct{ scalars jsonrow.Scalars }

// Append implements [jsonrow.Values].
func (v *values) Append(d *jx.Decoder, col *cdc.Column, b []byte) ([]byte, cdc.DatumKind, error) {
	if d.Next() == jx.Null {
		return b, cdc.Null, d.Null()
	}
	start := len(b)
	b, err := v.append(d, col, b)
	if err == nil && toastable(col) && isPlaceholder(col, b[start:]) {
		return b, cdc.Unchanged, nil
	}
	return b, cdc.Binary, err
}

// toastable says whether values may be stored out of line and are written as strings that may be the placeholder.
func toastable(col *cdc.Column) bool {
	switch col.Type {
	case pgtype.TextOID, pgtype.VarcharOID, pgtype.BPCharOID, pgtype.JSONOID, pgtype.JSONBOID, pgtype.ByteaOID:
		return true
	}
	return false
}

func isPlaceholder(col *cdc.Column, data []byte) bool {
	if col.Type == pgtype.JSONBOID && len(data) > 0 {
		data = data[1:]
	}
	return string(data) == placeholder
}

func (v *values) append(d *jx.Decoder, col *cdc.Column, b []byte) ([]byte, error) {
	if col.Enum {
		return v.scalars.Append(d, col, b)
	}
	var read func(b, text []byte) ([]byte, error)
	switch col.Type {
	case pgtype.DateOID, pgtype.TimestampOID, pgtype.TimeOID:
		return appendMoment(d, col.Type, b)
	case pgtype.JSONOID:
		return d.StrAppend(b)
	case pgtype.JSONBOID:
		return d.StrAppend(append(b, 1)) // the version of the format
	case pgtype.NumericOID:
		read = func(b, text []byte) ([]byte, error) { return appendNumeric(b, text, col.Modifier) }
	case pgtype.TimestamptzOID:
		read = appendInstant
	case pgtype.ByteaOID:
		read = base64.StdEncoding.AppendDecode
	case pgtype.QCharOID:
		read = appendChar
	default:
		return v.scalars.Append(d, col, b)
	}
	text, err := v.scalars.String(d)
	if err != nil {
		return b, err
	}
	return read(b, text)
}

// appendChar reads a "char", which is one byte: no text stands for zero, and a number in octal for one beyond ASCII. Before version 16 PostgreSQL
// writes such a byte itself, of which Debezium makes another character: that is a misfit.
func appendChar(b, text []byte) ([]byte, error) {
	switch {
	case len(text) == 0:
		return append(b, 0), nil
	case len(text) == 1:
		return append(b, text[0]), nil
	case len(text) == 4 && text[0] == '\\':
		if char, err := strconv.ParseUint(string(text[1:]), 8, 8); err == nil {
			return append(b, byte(char)), nil
		}
	}
	return b, jsonrow.ErrMisfit
}

// appendNumeric reads a numeric, which has all of its column's decimal places.
func appendNumeric(b, text []byte, modifier int32) ([]byte, error) {
	switch string(text) {
	case placeholder:
		return b, fmt.Errorf("%w: a numeric is stored out of line", jsonrow.ErrMisfit)
	case "NAN":
		text = []byte("NaN")
	case "POSITIVE_INFINITY":
		text = []byte("Infinity")
	case "NEGATIVE_INFINITY":
		text = []byte("-Infinity")
	default:
		whole, fraction, _ := bytes.Cut(text, []byte{'.'})
		_, scale, has := cdc.NumericModifier(modifier)
		switch {
		case has && scale < 0 && len(bytes.TrimRight(fraction, "0")) == 0: // which Debezium takes for a large one
			text = whole
		case has && len(fraction) != max(scale, 0):
			return b, fmt.Errorf("%w: it has %d decimal places", jsonrow.ErrMisfit, len(fraction))
		}
	}
	return jsonrow.AppendNumeric(b, text, modifier)
}

// appendMoment reads a date as days and a timestamp without time zone or a time as µs, both since 1970.
func appendMoment(d *jx.Decoder, typ uint32, b []byte) ([]byte, error) {
	n, err := d.Int64()
	if err != nil {
		return b, err
	}
	switch typ {
	case pgtype.DateOID:
		switch {
		case n == dateInfinity:
			n = math.MaxInt32
		case n == dateNegativeInfinity:
			n = math.MinInt32
		case n < math.MinInt32+pgEpochDays || n >= dateInfinity:
			return b, jsonrow.ErrMisfit
		default:
			n -= pgEpochDays
		}
		return binary.BigEndian.AppendUint32(b, uint32(int32(n))), nil
	case pgtype.TimestampOID:
		if n != math.MaxInt64 && n != math.MinInt64 {
			if n < math.MinInt64+pgEpochMicros {
				return b, jsonrow.ErrMisfit
			}
			n -= pgEpochMicros
		}
	case pgtype.TimeOID:
		if n < 0 || n > 86_400_000_000 {
			return b, jsonrow.ErrMisfit
		}
	}
	return binary.BigEndian.AppendUint64(b, uint64(n)), nil
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
		return b, jsonrow.ErrMisfit
	}
	rest := text[end:]
	const form = "-00-00T00:00:00"
	if len(rest) <= len(form) || rest[len(rest)-1] != 'Z' {
		return b, jsonrow.ErrMisfit
	}
	for i, c := range []byte(form) {
		if c == '0' && (rest[i] < '0' || rest[i] > '9') || c != '0' && rest[i] != c {
			return b, jsonrow.ErrMisfit
		}
	}
	two := func(at int) int { return int(rest[at]-'0')*10 + int(rest[at+1]-'0') }
	micros, err := parseFraction(rest[len(form) : len(rest)-1])
	if err != nil {
		return b, err
	}
	month, day, hour, minute, second := two(1), two(4), two(7), two(10), two(13)
	if month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 59 {
		return b, jsonrow.ErrMisfit
	}
	t := time.Date(year, time.Month(month), day, hour, minute, second, 0, time.UTC)
	if t.Day() != day {
		return b, jsonrow.ErrMisfit
	}
	return binary.BigEndian.AppendUint64(b, uint64(t.Unix()*1_000_000+micros-pgEpochMicros)), nil
}

// parseFraction reads what follows the seconds: nothing, or a point and up to six digits, as µs.
func parseFraction(text []byte) (int64, error) {
	if len(text) == 0 {
		return 0, nil
	}
	if text[0] != '.' || len(text) < 2 || len(text) > 7 || !jsonrow.AllDigits(text[1:]) {
		return 0, jsonrow.ErrMisfit
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
