package finish

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/proto"
)

func (d *Decoder) addNumeric(c Column, binary bool) {
	if !binary && !c.Wide && c.Display == c.Scale {
		addScalar(d, new(proto.ColDecimal64), textDecimal(c.Scale))
		return
	}
	write := pick(binary, binaryNumeric, textNumeric)
	var digits func(i int) (string, bool) // unscaled value
	if c.Wide {
		col := proto.NewColNullable[proto.Decimal256](new(proto.ColDecimal256))
		d.target(col)
		digits = func(i int) (string, bool) {
			v := col.Row(i)
			return wideInt(v.Value).String(), v.Set
		}
	} else {
		col := proto.NewColNullable[proto.Decimal64](new(proto.ColDecimal64))
		d.target(col)
		digits = func(i int) (string, bool) {
			v := col.Row(i)
			return strconv.FormatInt(int64(v.Value), 10), v.Set
		}
	}
	display := func(int) int { return c.Display }
	if c.Display == Dynamic {
		col := proto.NewColNullable[int32](new(proto.ColInt32))
		d.target(col)
		display = func(i int) int { return int(col.Row(i).Value) }
	}
	d.columns = append(d.columns, func(dst []byte, i int) ([]byte, bool, error) {
		unscaled, ok := digits(i)
		if !ok {
			return dst, false, nil
		}
		n, err := newNumeric(unscaled, c.Scale, display(i))
		if err != nil {
			return nil, false, err
		}
		return write(dst, n), true, nil
	})
}

func wideInt(v proto.Decimal256) *big.Int {
	words := []uint64{v.High.High, v.High.Low, v.Low.High, v.Low.Low}
	var b [32]byte
	for i, w := range words {
		binary.BigEndian.PutUint64(b[8*i:], w)
	}
	n := new(big.Int).SetBytes(b[:])
	if b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 256))
	}
	return n
}

// numeric is a value with as many digits after the point as it displays.
type numeric struct {
	negative bool
	integer  string // without leading zeros; empty for 0
	fraction string
}

// newNumeric places the point in an unscaled number with scale digits after it, and
// shows display of them. Digits that would be cut off must be zeros: display scales never round.
func newNumeric(unscaled string, scale, display int) (numeric, error) {
	n := numeric{}
	if unscaled[0] == '-' {
		n.negative, unscaled = true, unscaled[1:]
	}
	if unscaled == "0" {
		unscaled = ""
	}
	if point := len(unscaled) - scale; point >= 0 {
		n.integer, n.fraction = unscaled[:point], unscaled[point:]
	} else {
		n.fraction = zeros(-point) + unscaled
	}
	if missing := display - len(n.fraction); missing >= 0 {
		n.fraction += zeros(missing)
		return n, nil
	}
	for _, digit := range n.fraction[display:] {
		if digit != '0' {
			return n, fmt.Errorf("numeric has more than %d digits after the point", display)
		}
	}
	n.fraction = n.fraction[:display]
	return n, nil
}

func zeros(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0'
	}
	return string(b)
}

func textNumeric(dst []byte, n numeric) []byte {
	if n.negative {
		dst = append(dst, '-')
	}
	if n.integer == "" {
		dst = append(dst, '0')
	}
	dst = append(dst, n.integer...)
	if n.fraction != "" {
		dst = append(dst, '.')
		dst = append(dst, n.fraction...)
	}
	return dst
}

// textDecimal writes unscaled numbers that display all of their digits: the same text as newNumeric's, at less cost.
func textDecimal(scale int) func(dst []byte, v proto.Decimal64) []byte {
	return func(dst []byte, v proto.Decimal64) []byte {
		magnitude := uint64(v)
		if v < 0 {
			dst, magnitude = append(dst, '-'), -magnitude
		}
		start := len(dst)
		dst = strconv.AppendUint(dst, magnitude, 10)
		if scale == 0 {
			return dst
		}
		for missing := scale + 1 - (len(dst) - start); missing > 0; missing-- {
			dst = slices.Insert(dst, start, '0')
		}
		return slices.Insert(dst, len(dst)-scale, '.')
	}
}

// binaryNumeric writes PostgreSQL's base-10000 digits, without leading and trailing zero digits.
func binaryNumeric(dst []byte, n numeric) []byte {
	integer := zeros((4-len(n.integer)%4)%4) + n.integer
	fraction := n.fraction + zeros((4-len(n.fraction)%4)%4)
	all := integer + fraction
	digits := make([]uint16, len(all)/4)
	for i := range digits {
		for _, c := range all[4*i : 4*i+4] {
			digits[i] = digits[i]*10 + uint16(c-'0')
		}
	}
	weight := len(integer)/4 - 1
	for len(digits) > 0 && digits[0] == 0 {
		digits, weight = digits[1:], weight-1
	}
	for len(digits) > 0 && digits[len(digits)-1] == 0 {
		digits = digits[:len(digits)-1]
	}
	var sign uint16
	if n.negative {
		sign = 0x4000
	}
	if len(digits) == 0 {
		weight = 0
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(digits)))
	dst = binary.BigEndian.AppendUint16(dst, uint16(int16(weight)))
	dst = binary.BigEndian.AppendUint16(dst, sign)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(n.fraction)))
	for _, digit := range digits {
		dst = binary.BigEndian.AppendUint16(dst, digit)
	}
	return dst
}

// binaryNumericText is binaryNumeric of a number in PostgreSQL's own text. What is no number has no digits, and its sign tells which it is; the
// infinities come with a display scale that PostgreSQL reads out of the same bits.
func binaryNumericText(dst, text []byte) []byte {
	switch string(text) {
	case "NaN":
		return append(dst, 0, 0, 0, 0, 0xc0, 0, 0, 0)
	case "Infinity":
		return append(dst, 0, 0, 0, 0, 0xd0, 0, 0, 0x20)
	case "-Infinity":
		return append(dst, 0, 0, 0, 0, 0xf0, 0, 0, 0x20)
	}
	digits, negative := strings.CutPrefix(string(text), "-")
	integer, fraction, _ := strings.Cut(digits, ".")
	return binaryNumeric(dst, numeric{negative: negative, integer: strings.TrimLeft(integer, "0"), fraction: fraction})
}
