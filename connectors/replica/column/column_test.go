package column

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/connectors/arraytext"
	"github.com/freshet-io/freshet/connectors/cdc"
)

func numericModifier(p, s int) int32 { return int32(p<<16|s&0x7ff) + 4 }

func TestType_followsTheContract(t *testing.T) {
	for _, c := range []struct {
		column cdc.Column
		want   string
	}{
		{cdc.Column{Type: oidInt4, NotNull: true}, "Int32"},
		{cdc.Column{Type: oidInt8}, "Nullable(Int64)"},
		{cdc.Column{Type: oidNumeric, Modifier: numericModifier(12, 2), NotNull: true}, "Decimal(12, 2)"},
		{cdc.Column{Type: oidNumeric, Modifier: numericModifier(76, 76), NotNull: true}, "Decimal(76, 76)"},
		{cdc.Column{Type: oidNumeric, Modifier: numericModifier(77, 2), NotNull: true}, "String"},
		{cdc.Column{Type: oidNumeric, Modifier: numericModifier(5, -2), NotNull: true}, "String"},
		{cdc.Column{Type: oidNumeric, Modifier: numericModifier(2, 5), NotNull: true}, "String"},
		{cdc.Column{Type: oidNumeric, Modifier: -1, NotNull: true}, "String"},
		{cdc.Column{Type: 99999, Enum: true, NotNull: true}, "String"},
		{cdc.Column{Type: oidUUID, NotNull: true}, "FixedString(16)"},
		{cdc.Column{Type: oidDate, NotNull: true}, "Int32"},
		{cdc.Column{Type: 99999, NotNull: true}, ""},
	} {
		got, ok := Type(c.column)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("type of %+v: %q, %v, want %q", c.column, got, ok, c.want)
		}
	}
}

// decoded returns the value that a datum is stored as.
func decoded(t testing.TB, c cdc.Column, d cdc.Datum) (any, error) {
	t.Helper()
	c.NotNull = true
	col, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := col.Append(d); err != nil {
		if col.Rows() != 0 {
			t.Errorf("a refused value left %d rows", col.Rows())
		}
		return nil, err
	}
	switch v := col.values.(type) {
	case *text:
		return v.Row(0), nil
	case *scalar[int32, proto.ColInt32, *proto.ColInt32]:
		return int64(v.col[0]), nil
	case *scalar[int64, proto.ColInt64, *proto.ColInt64]:
		return v.col[0], nil
	case *scalar[[16]byte, proto.ColFixedStr16, *proto.ColFixedStr16]:
		return hex.EncodeToString(v.col[0][:]), nil
	}
	return fmt.Sprintf("%x", col.AppendKey(nil, 0)), nil
}

func TestColumn_storesTextExactly(t *testing.T) {
	at := func(s string) int64 {
		v, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			t.Fatal(err)
		}
		return v.UnixMicro()
	}
	for _, c := range []struct {
		oid  uint32
		text string
		want any // nil: unrepresentable or malformed
	}{
		{oidDate, "1970-01-01", int64(0)},
		{oidDate, "2000-02-29", int64(11016)},
		{oidDate, "0001-01-01", int64(-719162)},
		{oidDate, "0001-12-31 BC", int64(-719163)},
		{oidDate, "infinity", int64(math.MaxInt32)},
		{oidDate, "-infinity", int64(math.MinInt32)},
		{oidDate, "2000-13-01", nil},
		{oidTimestamp, "2024-02-29 23:59:59.999999", at("2024-02-29T23:59:59.999999Z")},
		{oidTimestamp, "1969-12-31 23:59:59.5", int64(-500000)},
		{oidTimestamptz, "2024-02-29 23:59:59.25+05:30", at("2024-02-29T23:59:59.25+05:30")},
		{oidTimestamptz, "2024-02-29 23:59:59-08", at("2024-02-29T23:59:59-08:00")},
		{oidTimestamptz, "1800-01-01 00:00:00+00:53:28", at("1800-01-01T00:00:00Z") - 3208e6},
		{oidTimestamp, "-infinity", int64(math.MinInt64)},
		{oidTimestamp, "294276-12-31 23:59:59", nil},
		{oidTime, "24:00:00", int64(86400e6)},
		{oidUUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc999c0b4ef8bb6d6bb9bd380a11"},
		{oidBPChar, "ab  ", "ab"},
		{oidVarchar, "ab  ", "ab  "},
		{oidBytea, `\x00ff`, "\x00\xff"},
		{oidBytea, `00ff`, nil},
		{oidInt4, "2147483648", nil},
		{oidInt8, "-9223372036854775808", int64(math.MinInt64)},
	} {
		got, err := decoded(t, cdc.Column{Type: c.oid, Modifier: -1}, cdc.Datum{Kind: cdc.Text, Data: []byte(c.text)})
		if c.want == nil {
			if err == nil {
				t.Errorf("%q as type %d: stored as %v, want an error", c.text, c.oid, got)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%q as type %d: %v, %v, want %v", c.text, c.oid, got, err, c.want)
		}
	}
}

// binaryNumeric encodes a decimal text as PostgreSQL sends numeric.
func binaryNumeric(s string) []byte {
	sign := uint16(numericPositive)
	if strings.HasPrefix(s, "-") {
		sign, s = numericNegative, s[1:]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	scale := len(fraction)
	for len(whole)%4 != 0 {
		whole = "0" + whole
	}
	for len(fraction)%4 != 0 {
		fraction += "0"
	}
	weight := len(whole)/4 - 1
	var digits []uint16
	for all := whole + fraction; len(all) > 0; all = all[4:] {
		var d uint16
		fmt.Sscanf(all[:4], "%d", &d)
		digits = append(digits, d)
	}
	for len(digits) > 0 && digits[0] == 0 {
		digits, weight = digits[1:], weight-1
	}
	for len(digits) > 0 && digits[len(digits)-1] == 0 {
		digits = digits[:len(digits)-1]
	}
	b := binary.BigEndian.AppendUint16(nil, uint16(len(digits)))
	b = binary.BigEndian.AppendUint16(b, uint16(int16(weight)))
	b = binary.BigEndian.AppendUint16(b, sign)
	b = binary.BigEndian.AppendUint16(b, uint16(scale))
	for _, d := range digits {
		b = binary.BigEndian.AppendUint16(b, d)
	}
	return b
}

func TestColumn_storesDecimalsExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.IntRange(1, maxDecimalDigits).Draw(t, "precision")
		s := rapid.IntRange(0, p).Draw(t, "scale")
		digits := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), 1, p, -1).Draw(t, "digits")
		storesDecimal(t, digits, rapid.Bool().Draw(t, "negative"), p, s)
	})
}

func TestColumn_storesTheLargestDecimals(t *testing.T) {
	for s := range maxDecimalDigits + 1 {
		storesDecimal(t, strings.Repeat("9", maxDecimalDigits), s%2 == 0, maxDecimalDigits, s)
	}
}

// storesDecimal checks a numeric(p, s) of these digits, the last s of which are behind the point.
func storesDecimal(t rapid.TB, digits string, negative bool, p, s int) {
	unscaled, _ := new(big.Int).SetString(digits, 10)
	if negative {
		unscaled.Neg(unscaled)
	}
	padded := fmt.Sprintf("%0*s", s+1, new(big.Int).Abs(unscaled).String())
	padded = strings.ReplaceAll(padded, " ", "0")
	shown := padded[:len(padded)-s]
	if s > 0 {
		shown += "." + padded[len(padded)-s:]
	}
	if unscaled.Sign() < 0 {
		shown = "-" + shown
	}
	for _, d := range []cdc.Datum{{Kind: cdc.Text, Data: []byte(shown)}, {Kind: cdc.Binary, Data: binaryNumeric(shown)}} {
		w, err := decodeDecimal(d, p, s)
		if err != nil {
			t.Fatalf("%s: %v", shown, err)
		}
		got := new(big.Int)
		for i := 3; i >= 0; i-- {
			got.Lsh(got, 64).Or(got, new(big.Int).SetUint64(w[i]))
		}
		if w[3]>>63 != 0 {
			got.Sub(got, new(big.Int).Lsh(big.NewInt(1), 256))
		}
		if got.Cmp(unscaled) != 0 {
			t.Fatalf("%s (kind %d) is %v, want %v", shown, d.Kind, got, unscaled)
		}
	}
	opaque, err := numericText(nil, cdc.Datum{Kind: cdc.Binary, Data: binaryNumeric(shown)})
	if err != nil || string(opaque) != shown {
		t.Fatalf("binary %s printed as %s, %v", shown, opaque, err)
	}
}

func TestColumn_refusesWhatItCannotHold(t *testing.T) {
	c := cdc.Column{Type: oidNumeric, Modifier: numericModifier(5, 2)}
	for _, v := range []string{"NaN", "Infinity", "-Infinity", "1000.00", "1.001", "1.00000001"} {
		if _, err := decoded(t, c, cdc.Datum{Kind: cdc.Text, Data: []byte(v)}); !errors.Is(err, ErrUnrepresentable) {
			t.Errorf("%s in numeric(5,2): %v, want unrepresentable", v, err)
		}
	}
	for _, v := range []string{"1000.00", "1.001", "1.00000001"} {
		if _, err := decoded(t, c, cdc.Datum{Kind: cdc.Binary, Data: binaryNumeric(v)}); !errors.Is(err, ErrUnrepresentable) {
			t.Errorf("binary %s in numeric(5,2): %v, want unrepresentable", v, err)
		}
	}
	nan := []byte{0, 0, 0, 0, 0xC0, 0, 0, 0}
	if _, err := decoded(t, c, cdc.Datum{Kind: cdc.Binary, Data: nan}); !errors.Is(err, ErrUnrepresentable) {
		t.Errorf("binary NaN: %v, want unrepresentable", err)
	}
	if _, err := decoded(t, c, cdc.Datum{Kind: cdc.Null}); !errors.Is(err, ErrNull) {
		t.Errorf("null in a not-null column: %v", err)
	}
}

// null stands for NULL among the elements of an array.
const null = "\x00null"

// binaryArray encodes an array of one dimension as PostgreSQL sends it.
func binaryArray(element uint32, values ...string) []byte {
	a := arraytext.Array{}
	if len(values) > 0 {
		a.Dims = []arraytext.Dim{{Length: len(values), Lower: 1}}
	}
	for _, v := range values {
		if v == null {
			a.Elements = append(a.Elements, nil)
			continue
		}
		a.Elements = append(a.Elements, []byte(v))
	}
	return a.AppendBinary(nil, element)
}

func TestColumn_refusesMalformedArrays(t *testing.T) {
	for _, c := range []struct {
		oid   uint32
		value []byte
	}{{1007, nil}, {1007, binaryArray(oidInt4, "\x00")}, {1009, binaryArray(oidText, "a")[:20]}, {2951, binaryArray(oidUUID, "x")}, {1231, binaryArray(oidNumeric, "")}} {
		if got, err := decoded(t, cdc.Column{Type: c.oid}, cdc.Datum{Kind: cdc.Binary, Data: c.value}); err == nil {
			t.Errorf("%q as type %d is stored as %v", c.value, c.oid, got)
		}
	}
}

func TestColumn_keysOfTextAndBinaryAgree(t *testing.T) {
	for _, c := range []struct {
		column cdc.Column
		text   string
		binary []byte
	}{
		{cdc.Column{Type: oidInt4}, "-5", []byte{0xff, 0xff, 0xff, 0xfb}},
		{cdc.Column{Type: oidDate}, "2000-01-02", []byte{0, 0, 0, 1}},
		{cdc.Column{Type: oidTimestamp}, "2000-01-01 00:00:00.000001", []byte{0, 0, 0, 0, 0, 0, 0, 1}},
		{cdc.Column{Type: oidTime}, "00:00:00.000001", []byte{0, 0, 0, 0, 0, 0, 0, 1}},
		{cdc.Column{Type: oidBool}, "t", []byte{1}},
		{cdc.Column{Type: oidBPChar}, "x", []byte("x   ")},
		{cdc.Column{Type: oidJSONB}, `{"a": [1, 2]}`, []byte("\x01" + `{"a": [1, 2]}`)},
		{cdc.Column{Type: oidBytea}, `\x78`, []byte("x")},
		{cdc.Column{Type: oidNumeric, Modifier: numericModifier(12, 2)}, "12345.60", binaryNumeric("12345.60")},
		{cdc.Column{Type: 1007}, "{}", binaryArray(oidInt4)},
		{cdc.Column{Type: 1005}, "{-5,7}", binaryArray(oidInt2, "\xff\xfb", "\x00\x07")},
		{cdc.Column{Type: 1007}, "{-5}", binaryArray(oidInt4, "\xff\xff\xff\xfb")},
		{cdc.Column{Type: 1016}, "{-5}", binaryArray(oidInt8, "\xff\xff\xff\xff\xff\xff\xff\xfb")},
		{cdc.Column{Type: 1000}, "{t,f}", binaryArray(oidBool, "\x01", "\x00")},
		{cdc.Column{Type: 1009}, `{a,"",NULL,"NULL","b c","\"\\"}`, binaryArray(oidText, "a", "", null, "NULL", "b c", `"\`)},
		{cdc.Column{Type: 1231}, "{1.50,NULL}", binaryArray(oidNumeric, string(binaryNumeric("1.50")), null)},
		{cdc.Column{Type: 2951}, "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}", binaryArray(oidUUID, "\xa0\xee\xbc\x99\x9c\x0b\x4e\xf8\xbb\x6d\x6b\xb9\xbd\x38\x0a\x11")},
		{cdc.Column{Type: 3807}, `{"{\"a\": 1}"}`, binaryArray(oidJSONB, "\x01{\"a\": 1}")},
	} {
		col, err := New(c.column)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(col.Append(cdc.Datum{Kind: cdc.Text, Data: []byte(c.text)}),
			col.Append(cdc.Datum{Kind: cdc.Binary, Data: c.binary})); err != nil {
			t.Errorf("type %d: %v", c.column.Type, err)
			continue
		}
		if a, b := col.AppendKey(nil, 0), col.AppendKey(nil, 1); !bytes.Equal(a, b) {
			t.Errorf("type %d: key %x of text, %x of binary", c.column.Type, a, b)
		}
	}
}
