package finish

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgtype"
	"pgregory.net/rapid"
)

func TestText_isPostgreSQLs(t *testing.T) {
	tests := []struct {
		name string
		got  []byte
		want string
	}{
		{"bool", textBool(nil, true), "t"},
		{"float8 positional", textFloat64(nil, 123456789012345), "123456789012345"},
		{"float8 scientific", textFloat64(nil, 1e15), "1e+15"},
		{"float8 small", textFloat64(nil, 0.0001), "0.0001"},
		{"float8 smaller", textFloat64(nil, 0.00001), "1e-05"},
		{"float8 shortest", textFloat64(nil, 0.30000000000000004), "0.30000000000000004"},
		{"float8 minus zero", textFloat64(nil, math.Copysign(0, -1)), "-0"},
		{"float8 infinity", textFloat64(nil, math.Inf(-1)), "-Infinity"},
		{"float8 NaN", textFloat64(nil, math.NaN()), "NaN"},
		{"float4 scientific", textFloat32(nil, 1234567), "1.234567e+06"},
		{"float4 positional", textFloat32(nil, 123456), "123456"},
		{"date", textDate(nil, 0), "1970-01-01"},
		{"date before Christ", textDate(nil, -719163), "0001-12-31 BC"},
		{"date infinity", textDate(nil, math.MaxInt32), "infinity"},
		{"timestamp", textTimestamp(nil, 1_500_000), "1970-01-01 00:00:01.5"},
		{"timestamp before 1970", textTimestamp(nil, -1), "1969-12-31 23:59:59.999999"},
		{"timestamptz", textTimestampTZ(nil, 0), "1970-01-01 00:00:00+00"},
		{"timestamptz before Christ", textTimestampTZ(nil, -719163*microsPerDay), "0001-12-31 00:00:00+00 BC"},
		{"time", textTime(nil, microsPerDay), "24:00:00"},
		{"uuid", textUUID(nil, []byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff")), "00112233-4455-6677-8899-aabbccddeeff"},
		{"bytea", textBytea(nil, []byte{0, 255}), `\x00ff`},
		{"char counts characters", padded(4)(nil, []byte("äb")), "äb  "},
	}
	for _, tt := range tests {
		if d := cmp.Diff(tt.want, string(tt.got)); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestCivil_followsTheCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		days := rapid.Int64Range(-700_000, 3_000_000).Draw(t, "days")
		want := time.Unix(days*86400, 0).UTC().Format("2006-01-02")
		if got := string(textDate(nil, int32(days))); got != want {
			t.Fatalf("day %d is %s, want %s", days, got, want)
		}
	})
}

func TestNumeric_textAndBinaryAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digits := rapid.StringMatching(`[1-9][0-9]{0,60}|0`).Draw(t, "digits")
		if digits != "0" && rapid.Bool().Draw(t, "negative") {
			digits = "-" + digits
		}
		scale := rapid.IntRange(0, 50).Draw(t, "scale")
		extra := rapid.IntRange(0, 5).Draw(t, "extra")
		n, err := newNumeric(digits, scale, scale+extra)
		if err != nil {
			t.Fatal(err)
		}
		unscaled, _ := new(big.Int).SetString(digits, 10)
		want := new(big.Rat).SetFrac(unscaled, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale + extra)
		text := string(textNumeric(nil, n))
		if text != want {
			t.Fatalf("text %s, want %s", text, want)
		}
		b := binaryNumeric(nil, n)
		if got := int(binary.BigEndian.Uint16(b[6:])); got != scale+extra {
			t.Fatalf("display scale %d, want %d", got, scale+extra)
		}
		if again := binaryNumericText(nil, []byte(text)); !bytes.Equal(again, b) {
			t.Fatalf("binary of the text %s is %x, want %x", text, again, b)
		}
		var decoded pgtype.Numeric
		if err := pgtype.NewMap().Scan(pgtype.NumericOID, pgtype.BinaryFormatCode, b, &decoded); err != nil {
			t.Fatal(err)
		}
		value := new(big.Rat).SetInt(decoded.Int)
		power := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(decoded.Exp, -decoded.Exp))), nil))
		if decoded.Exp < 0 {
			power.Inv(power)
		}
		if got := value.Mul(value, power).FloatString(scale + extra); got != want {
			t.Fatalf("binary holds %s, want %s", got, want)
		}
	})
}

func TestNumeric_shortWayWritesTheSameText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unscaled := rapid.Int64().Draw(t, "unscaled")
		scale := rapid.IntRange(0, 18).Draw(t, "scale")
		n, err := newNumeric(strconv.FormatInt(unscaled, 10), scale, scale)
		if err != nil {
			t.Fatal(err)
		}
		want := "before" + string(textNumeric(nil, n))
		if got := string(textDecimal(scale)([]byte("before"), proto.Decimal64(unscaled))); got != want {
			t.Fatalf("text %s, want %s", got, want)
		}
	})
}

func TestNumeric_neverRoundsForDisplay(t *testing.T) {
	if n, err := newNumeric("12345", 3, 2); err == nil {
		t.Errorf("12.345 is shown as %s", textNumeric(nil, n))
	}
	if n, err := newNumeric("12340", 3, 2); err != nil || string(textNumeric(nil, n)) != "12.34" {
		t.Errorf("12.340 at two digits: %s, %v", textNumeric(nil, n), err)
	}
}

func TestDecoder_readsBlocks(t *testing.T) {
	columns := []Column{
		{Name: "n", Kind: Numeric, Wide: true, Scale: 4, Display: Dynamic},
		{Name: "s", Kind: String}, {Name: "c", Kind: Char, Pad: 3}, {Name: "i", Kind: Int32},
	}
	d, err := NewDecoder(columns, []int16{0, 0, 0, 1}, Style{})
	if err != nil {
		t.Fatal(err)
	}
	target := d.Results()
	numbers := target[0].Data.(*proto.ColNullable[proto.Decimal256])
	// -1.5 at scale 4, in two's complement
	minus := proto.UInt128{Low: math.MaxUint64, High: math.MaxUint64}
	numbers.Append(proto.NewNullable(proto.Decimal256{Low: proto.UInt128{Low: ^uint64(14999), High: math.MaxUint64}, High: minus}))
	numbers.Append(proto.Null[proto.Decimal256]())
	scales := target[1].Data.(*proto.ColNullable[int32])
	scales.Append(proto.NewNullable[int32](2))
	scales.Append(proto.Null[int32]())
	for _, text := range target[2:4] {
		c := text.Data.(*proto.ColNullable[string])
		c.Append(proto.NewNullable(""))
		c.Append(proto.Null[string]())
	}
	integers := target[4].Data.(*proto.ColNullable[int32])
	integers.Append(proto.NewNullable[int32](-2))
	integers.Append(proto.Null[int32]())
	rows := encoded(t, d)
	want := []string{`"-1.50" "" "   " "\xff\xff\xff\xfe"`, "NULL NULL NULL NULL"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestDecoder_rowsStayAsTheyAre(t *testing.T) {
	d, err := NewDecoder([]Column{{Name: "a", Kind: String}, {Name: "b", Kind: String}}, nil, Style{})
	if err != nil {
		t.Fatal(err)
	}
	block := func(values ...*string) [][][]byte {
		t.Helper()
		for i, c := range d.Results() {
			column := c.Data.(*proto.ColNullable[string])
			column.Reset()
			for j := i; j < len(values); j += 2 {
				v := proto.Null[string]()
				if values[j] != nil {
					v = proto.NewNullable(*values[j])
				}
				column.Append(v)
			}
		}
		rows, err := d.Encode(len(values) / 2)
		if err != nil {
			t.Fatal(err)
		}
		return slices.Collect(rows.Values())
	}
	empty, short, long := "", "ä", strings.Repeat("x", 64<<10)
	first := block(&short, nil, &empty, &empty, &long, &short, &short, &long)
	block(&long, &long, &long, &long, &long, &long, &long, &long)
	want := [][][]byte{{[]byte(short), nil}, {{}, {}}, {[]byte(long), []byte(short)}, {[]byte(short), []byte(long)}}
	if d := cmp.Diff(want, first); d != "" {
		t.Errorf("rows after the next block (-want +got):\n%s", d)
	}
	first[0][0] = append(first[0][0], "overwritten"...)
	if d := cmp.Diff(want[1:], first[1:]); d != "" {
		t.Errorf("rows after one of them grew (-want +got):\n%s", d)
	}
}

// encoded are the rows of the decoder's block, as text.
func encoded(t *testing.T, d *Decoder) []string {
	t.Helper()
	rows, err := d.Encode(d.Results().Rows())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for row := range rows.Values() {
		out = append(out, strings.Join(describe(row), " "))
	}
	return out
}

func describe(row [][]byte) []string {
	out := make([]string, len(row))
	for i, v := range row {
		out[i] = "NULL"
		if v != nil {
			out[i] = fmt.Sprintf("%q", v)
		}
	}
	return out
}

func TestNewDecoder_refusesOtherStyles(t *testing.T) {
	tests := []struct {
		kind   Kind
		style  Style
		format int16
	}{
		{Date, Style{DateStyle: "German, DMY"}, 0},
		{TimestampTZ, Style{TimeZone: "Europe/Berlin"}, 0},
		{Bytea, Style{ByteaOutput: "escape"}, 0},
		{Float64, Style{ExtraFloatDigits: "0"}, 0},
		{Interval, Style{IntervalStyle: "postgres_verbose"}, 0},
		{IntervalSum, Style{IntervalStyle: "sql_standard"}, 0},
	}
	for _, tt := range tests {
		if _, err := NewDecoder([]Column{{Kind: tt.kind}}, []int16{tt.format}, tt.style); err == nil {
			t.Errorf("kind %d under %+v in format %d is accepted", tt.kind, tt.style, tt.format)
		}
	}
	if _, err := NewDecoder([]Column{{Kind: TimestampTZ}}, []int16{1}, Style{TimeZone: "Europe/Berlin"}); err != nil {
		t.Errorf("the binary form does not depend on the zone: %v", err)
	}
}

func TestGuard_tellsGuardsFromDefects(t *testing.T) {
	tests := []struct {
		err  error
		want string
	}{
		{&ch.Exception{Code: proto.ErrFunctionThrowIfValueIsNonZero, Message: "DB::Exception: freshet guard: date out of range: while executing throwIf(a < b)"}, "date out of range"},
		{fmt.Errorf("query: %w", &ch.Exception{Code: proto.ErrIllegalDivision, Message: "DB::Exception: Division by zero: while executing intDiv(a, b)"}), "division by zero"},
		{&ch.Exception{Code: proto.ErrUnknownIdentifier, Message: "DB::Exception: Unknown x in scope SELECT throwIf(y, 'freshet guard: z')"}, ""},
		{fmt.Errorf("freshet guard: not from the engine"), ""},
		{nil, ""},
	}
	for _, tt := range tests {
		if got := Guard(tt.err); got != tt.want || IsGuard(tt.err) != (tt.want != "") {
			t.Errorf("Guard(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}
