package cockroachdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
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

// appendNumeric appends the binary form of a decimal: the number of digits to base 10,000, the weight of the
// first, sign, decimal places, digits. A value with more decimal places than the column has is a misfit; one with
// fewer gets zeros. The digits never pass through a float.
func (v *valueDecoder) appendNumeric(b, text []byte, modifier int32) ([]byte, error) {
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
	whole, fraction, err := v.split(text)
	if err != nil {
		return b, err
	}
	zeros := 0
	if scale, has := numericScale(modifier); has {
		scale = max(scale, 0)
		if len(fraction) > scale {
			if len(bytes.Trim(fraction[scale:], "0")) > 0 {
				return b, fmt.Errorf("%w: it has more decimal places", errMisfit)
			}
			fraction = fraction[:scale]
		}
		zeros = scale - len(fraction)
	}
	return appendDigits(b, sign, bytes.TrimLeft(whole, "0"), fraction, len(fraction)+zeros)
}

// split returns the digits before and behind the point of an unsigned number, which may have an exponent.
func (v *valueDecoder) split(text []byte) (whole, fraction []byte, err error) {
	mantissa, exponent := text, 0
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		if exponent, err = strconv.Atoi(string(text[i+1:])); err != nil {
			return nil, nil, errMisfit
		}
		mantissa = text[:i]
	}
	whole, fraction, _ = bytes.Cut(mantissa, []byte{'.'})
	if len(whole)+len(fraction) == 0 || !allDigits(whole) || !allDigits(fraction) {
		return nil, nil, errMisfit
	}
	if exponent < -mostFraction-mostWhole || exponent > mostFraction+mostWhole {
		return nil, nil, fmt.Errorf("%w: it is out of a numeric's range", errMisfit)
	}
	if exponent != 0 {
		whole, fraction = v.shift(whole, fraction, exponent)
	}
	if len(whole) > mostWhole || len(fraction) > mostFraction {
		return nil, nil, fmt.Errorf("%w: it is out of a numeric's range", errMisfit)
	}
	return whole, fraction, nil
}

// shift moves the point by exponent digits to the right, or to the left if that is negative.
func (v *valueDecoder) shift(whole, fraction []byte, exponent int) (w, f []byte) {
	point := len(whole) + exponent
	v.digits = v.digits[:0]
	for ; point < 0; point++ {
		v.digits = append(v.digits, '0')
	}
	v.digits = append(append(v.digits, whole...), fraction...)
	for len(v.digits) < point {
		v.digits = append(v.digits, '0')
	}
	return v.digits[:point], v.digits[point:]
}

func appendDigits(b []byte, sign uint16, whole, fraction []byte, places int) ([]byte, error) {
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
	b = append(b[:body], b[zeros:]...)
	if len(b) == body {
		weight, sign = 0, 0
	}
	binary.BigEndian.PutUint16(b[header:], uint16((len(b)-body)/2))
	binary.BigEndian.PutUint16(b[header+2:], uint16(int16(weight)))
	binary.BigEndian.PutUint16(b[header+4:], sign)
	binary.BigEndian.PutUint16(b[header+6:], uint16(places))
	return b, nil
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

func allDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// numericScale reads the decimal places from a numeric's type modifier; has is false for a numeric without.
func numericScale(modifier int32) (scale int, has bool) {
	if modifier < 4 {
		return 0, false
	}
	scale = int((modifier - 4) & 0x7ff)
	if scale >= 1024 { // an 11-bit signed number
		scale -= 2048
	}
	return scale, true
}
