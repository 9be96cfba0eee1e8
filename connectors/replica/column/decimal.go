package column

import (
	"encoding/binary"
	"math/bits"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// wide is an unsigned number of 256 bits, the least significant word first.
type wide [4]uint64

// mulAdd sets w to w*m + a and reports whether it fits.
func (w *wide) mulAdd(m, a uint64) bool {
	for i := range w {
		hi, lo := bits.Mul64(w[i], m)
		var carry uint64
		w[i], carry = bits.Add64(lo, a, 0)
		a = hi + carry
	}
	return a == 0
}

func (w *wide) less(o *wide) bool {
	for i := len(w) - 1; i >= 0; i-- {
		if w[i] != o[i] {
			return w[i] < o[i]
		}
	}
	return false
}

func (w *wide) negate() {
	carry := uint64(1)
	for i := range w {
		w[i], carry = bits.Add64(^w[i], 0, carry)
	}
}

// powers holds 10^0 to 10^76.
var powers = func() (p [maxDecimalDigits + 1]wide) {
	p[0] = wide{1}
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1]
		p[i].mulAdd(10, 0)
	}
	return p
}()

func decimal32(p, s int) func(cdc.Datum) (proto.Decimal32, error) {
	return func(d cdc.Datum) (proto.Decimal32, error) {
		w, err := decodeDecimal(d, p, s)
		return proto.Decimal32(w[0]), err
	}
}

func decimal64(p, s int) func(cdc.Datum) (proto.Decimal64, error) {
	return func(d cdc.Datum) (proto.Decimal64, error) {
		w, err := decodeDecimal(d, p, s)
		return proto.Decimal64(w[0]), err
	}
}

func decimal128(p, s int) func(cdc.Datum) (proto.Decimal128, error) {
	return func(d cdc.Datum) (proto.Decimal128, error) {
		w, err := decodeDecimal(d, p, s)
		return proto.Decimal128{Low: w[0], High: w[1]}, err
	}
}

func decimal256(p, s int) func(cdc.Datum) (proto.Decimal256, error) {
	return func(d cdc.Datum) (proto.Decimal256, error) {
		w, err := decodeDecimal(d, p, s)
		return proto.Decimal256{
			Low:  proto.UInt128{Low: w[0], High: w[1]},
			High: proto.UInt128{Low: w[2], High: w[3]},
		}, err
	}
}

// decodeDecimal returns a numeric times 10^scale in two's complement.
func decodeDecimal(d cdc.Datum, precision, scale int) (wide, error) {
	var (
		w        wide
		negative bool
		err      error
	)
	if d.Kind == cdc.Binary {
		w, negative, err = binaryDecimal(d, scale)
	} else {
		w, negative, err = textDecimal(d, scale)
	}
	if err != nil {
		return wide{}, err
	}
	if !w.less(&powers[precision]) {
		return wide{}, ErrUnrepresentable
	}
	if negative {
		w.negate()
	}
	return w, nil
}

func textDecimal(d cdc.Datum, scale int) (w wide, negative bool, err error) {
	s := d.Data
	switch string(s) {
	case "NaN", "Infinity", "-Infinity":
		return w, false, ErrUnrepresentable
	}
	if len(s) > 0 && s[0] == '-' {
		negative, s = true, s[1:]
	}
	point, digits := -1, 0
	for i, c := range s {
		switch {
		case c == '.' && point < 0:
			point = i
		case c < '0' || c > '9':
			return w, false, malformed("numeric", d)
		case point >= 0 && i-point > scale:
			if c != '0' {
				return w, false, ErrUnrepresentable
			}
		default:
			digits++
			if !w.mulAdd(10, uint64(c-'0')) {
				return w, false, ErrUnrepresentable
			}
		}
	}
	if digits == 0 {
		return w, false, malformed("numeric", d)
	}
	fraction := 0
	if point >= 0 {
		fraction = min(len(s)-point-1, scale)
	}
	for ; fraction < scale; fraction++ {
		if !w.mulAdd(10, 0) {
			return w, false, ErrUnrepresentable
		}
	}
	return w, negative, nil
}

// The sign words of PostgreSQL's binary numeric.
const (
	numericPositive = 0x0000
	numericNegative = 0x4000
)

// numeric is PostgreSQL's binary numeric: digits of base 10,000, the first of weight 10,000^weight.
type numeric struct {
	digits []byte // two bytes each
	weight int
	sign   uint16
	scale  int
}

func parseNumeric(d cdc.Datum) (numeric, error) {
	const header = 8
	if len(d.Data) < header {
		return numeric{}, malformed("numeric", d)
	}
	n := numeric{
		digits: d.Data[header:],
		weight: int(int16(binary.BigEndian.Uint16(d.Data[2:]))),
		sign:   binary.BigEndian.Uint16(d.Data[4:]),
		scale:  int(binary.BigEndian.Uint16(d.Data[6:])),
	}
	if len(n.digits) != 2*int(binary.BigEndian.Uint16(d.Data)) {
		return numeric{}, malformed("numeric", d)
	}
	return n, nil
}

func (n numeric) len() int           { return len(n.digits) / 2 }
func (n numeric) digit(i int) uint64 { return uint64(binary.BigEndian.Uint16(n.digits[2*i:])) }

func binaryDecimal(d cdc.Datum, scale int) (w wide, negative bool, err error) {
	n, err := parseNumeric(d)
	if err != nil {
		return w, false, err
	}
	if n.sign != numericPositive && n.sign != numericNegative {
		return w, false, ErrUnrepresentable // NaN or an infinity
	}
	shift := 4*(n.weight-n.len()+1) + scale // decimals between the last digit's and the scale's
	kept := n.len()
	for ; kept > 0 && shift <= -4; kept, shift = kept-1, shift+4 {
		if n.digit(kept-1) != 0 {
			return w, false, ErrUnrepresentable
		}
	}
	if kept == 0 {
		return w, false, nil
	}
	for i := range kept - 1 {
		if !w.mulAdd(10000, n.digit(i)) {
			return w, false, ErrUnrepresentable
		}
	}
	// Of the last digit only the decimals that the scale has: with all four of 38 + 38 decimals a number has 80, which do not fit.
	base, last := uint64(10000), n.digit(kept-1)
	for ; shift < 0; shift++ {
		if last%10 != 0 {
			return w, false, ErrUnrepresentable
		}
		base, last = base/10, last/10
	}
	if !w.mulAdd(base, last) {
		return w, false, ErrUnrepresentable
	}
	for ; shift > 0; shift-- {
		if !w.mulAdd(10, 0) {
			return w, false, ErrUnrepresentable
		}
	}
	return w, n.sign == numericNegative, nil
}

// numericText stores a numeric as PostgreSQL prints it.
func numericText(b []byte, d cdc.Datum) ([]byte, error) {
	if d.Kind != cdc.Binary {
		return append(b, d.Data...), nil
	}
	n, err := parseNumeric(d)
	if err != nil {
		return nil, err
	}
	switch n.sign {
	case numericPositive:
	case numericNegative:
		b = append(b, '-')
	case 0xC000:
		return append(b, "NaN"...), nil
	case 0xD000:
		return append(b, "Infinity"...), nil
	case 0xF000:
		return append(b, "-Infinity"...), nil
	default:
		return nil, malformed("numeric", d)
	}
	start := len(b)
	for i := 0; i <= n.weight; i++ {
		b = n.appendDigit(b, i, 4)
	}
	// The first digit has leading zeros.
	lead := start
	for lead < len(b) && b[lead] == '0' {
		lead++
	}
	b = append(b[:start], b[lead:]...)
	if len(b) == start {
		b = append(b, '0')
	}
	if n.scale > 0 {
		b = append(b, '.')
		for i, left := n.weight+1, n.scale; left > 0; i, left = i+1, left-4 {
			b = n.appendDigit(b, i, min(left, 4))
		}
	}
	return b, nil
}

// appendDigit appends the first count decimals of the i-th digit, which is zero outside the number.
func (n numeric) appendDigit(b []byte, i, count int) []byte {
	var v uint64
	if i >= 0 && i < n.len() {
		v = n.digit(i)
	}
	for unit := uint64(1000); count > 0; count, unit = count-1, unit/10 {
		b = append(b, byte('0'+v/unit%10))
	}
	return b
}
