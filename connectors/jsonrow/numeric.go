package jsonrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Signs in PostgreSQL's binary numeric.
const (
	numericNegative         = 0x4000
	numericNaN              = 0xC000
	numericInfinity         = 0xD000
	numericNegativeInfinity = 0xF000
)

// The most decimal digits that PostgreSQL's numeric has before and behind the point.
const (
	mostWhole    = 131072
	mostFraction = 16383
)

// AppendNumeric appends the binary form of a decimal number, NaN, Infinity or -Infinity: the number of digits to base 10,000, the
// weight of the first, sign, decimal places, digits. By a type modifier, a value with more decimal places is a misfit unless those
// are zeros, and one with fewer gets zeros.
func AppendNumeric(b, text []byte, modifier int32) ([]byte, error) {
	switch string(text) {
	case "NaN":
		return appendSpecial(b, numericNaN, 0), nil
	case "Infinity":
		return appendSpecial(b, numericInfinity, 32), nil
	case "-Infinity":
		return appendSpecial(b, numericNegativeInfinity, 32), nil
	}
	sign := uint16(0)
	if len(text) > 0 && text[0] == '-' {
		sign, text = numericNegative, text[1:]
	}
	whole, fraction, err := split(text)
	if err != nil {
		return b, err
	}
	zeros := 0
	if _, scale, has := cdc.NumericModifier(modifier); has {
		scale = max(scale, 0)
		if len(fraction) > scale {
			if len(bytes.Trim(fraction[scale:], "0")) > 0 {
				return b, fmt.Errorf("%w: it has more decimal places", ErrMisfit)
			}
			fraction = fraction[:scale]
		}
		zeros = scale - len(fraction)
	}
	return appendDigits(b, sign, bytes.TrimLeft(whole, "0"), fraction, len(fraction)+zeros), nil
}

// split returns the digits before and behind the point of an unsigned number, which may have an exponent.
func split(text []byte) (whole, fraction []byte, err error) {
	mantissa, exponent := text, 0
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		if exponent, err = strconv.Atoi(string(text[i+1:])); err != nil {
			return nil, nil, ErrMisfit
		}
		mantissa = text[:i]
	}
	whole, fraction, _ = bytes.Cut(mantissa, []byte{'.'})
	if len(whole)+len(fraction) == 0 || !AllDigits(whole) || !AllDigits(fraction) {
		return nil, nil, ErrMisfit
	}
	if exponent < -mostFraction-mostWhole || exponent > mostFraction+mostWhole {
		return nil, nil, fmt.Errorf("%w: it is out of a numeric's range", ErrMisfit)
	}
	if exponent != 0 {
		whole, fraction = shift(whole, fraction, exponent)
	}
	if len(whole) > mostWhole || len(fraction) > mostFraction {
		return nil, nil, fmt.Errorf("%w: it is out of a numeric's range", ErrMisfit)
	}
	return whole, fraction, nil
}

// shift moves the point by exponent digits to the right, or to the left if that is negative.
func shift(whole, fraction []byte, exponent int) (w, f []byte) {
	point := len(whole) + exponent
	var digits []byte
	for ; point < 0; point++ {
		digits = append(digits, '0')
	}
	digits = append(append(digits, whole...), fraction...)
	for len(digits) < point {
		digits = append(digits, '0')
	}
	return digits[:point], digits[point:]
}

func appendDigits(b []byte, sign uint16, whole, fraction []byte, places int) []byte {
	groups := (len(whole) + 3) / 4
	weight := groups - 1
	header := len(b)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	body := len(b)
	for i := range groups {
		end := len(whole) - 4*(groups-1-i)
		b = appendGroup(b, whole[max(0, end-4):end], 0)
	}
	for i := 0; i < len(fraction); i += 4 {
		end := min(i+4, len(fraction))
		b = appendGroup(b, fraction[i:end], 4-(end-i))
	}
	// Zero groups at either end are not stored.
	for len(b) > body && b[len(b)-1] == 0 && b[len(b)-2] == 0 {
		b = b[:len(b)-2]
	}
	zeros := body
	for zeros < len(b) && b[zeros] == 0 && b[zeros+1] == 0 {
		zeros += 2
		weight--
	}
	if zeros > body {
		b = append(b[:body], b[zeros:]...)
	}
	if len(b) == body {
		weight, sign = 0, 0
	}
	binary.BigEndian.PutUint16(b[header:], uint16((len(b)-body)/2))
	binary.BigEndian.PutUint16(b[header+2:], uint16(int16(weight)))
	binary.BigEndian.PutUint16(b[header+4:], sign)
	binary.BigEndian.PutUint16(b[header+6:], uint16(places))
	return b
}

// appendGroup appends up to four decimal digits as one digit to base 10,000, with zeros behind.
func appendGroup(b, group []byte, zeros int) []byte {
	n := uint16(0)
	for _, c := range group {
		n = n*10 + uint16(c-'0')
	}
	for range zeros {
		n *= 10
	}
	return binary.BigEndian.AppendUint16(b, n)
}

// appendSpecial appends a value without digits. PostgreSQL sends infinities with 32 decimal places, which mean nothing.
func appendSpecial(b []byte, sign uint16, places byte) []byte {
	return append(b, 0, 0, 0, 0, byte(sign>>8), byte(sign), 0, places)
}

// AllDigits reports whether b has decimal digits only.
func AllDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
