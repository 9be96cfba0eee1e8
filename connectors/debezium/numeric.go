package debezium

import (
	"bytes"
	"encoding/binary"
)

// Signs in PostgreSQL's binary numeric.
const (
	numericNegative         = 0x4000
	numericNaN              = 0xC000
	numericInfinity         = 0xD000
	numericNegativeInfinity = 0xF000
)

// appendNumeric appends the binary form of a numeric: the number of digits to base 10,000, the weight of the
// first, sign, decimal places, digits. A value with more decimal places than the column has is a misfit.
func appendNumeric(b, text []byte, modifier int32) ([]byte, error) {
	switch string(text) {
	case "NAN", "NaN":
		return appendSpecial(b, numericNaN, 0), nil
	case "POSITIVE_INFINITY", "Infinity":
		return appendSpecial(b, numericInfinity, 32), nil
	case "NEGATIVE_INFINITY", "-Infinity":
		return appendSpecial(b, numericNegativeInfinity, 32), nil
	}
	sign := uint16(0)
	if len(text) > 0 && text[0] == '-' {
		sign, text = numericNegative, text[1:]
	}
	whole, fraction, _ := bytes.Cut(text, []byte{'.'})
	if len(whole)+len(fraction) == 0 || !digits(whole) || !digits(fraction) || len(fraction) > 16383 {
		return b, errMisfit
	}
	if scale, has := numericScale(modifier); has && len(fraction) != max(scale, 0) {
		return b, errMisfit
	}
	whole = bytes.TrimLeft(whole, "0")
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
	binary.BigEndian.PutUint16(b[header+6:], uint16(len(fraction)))
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

func digits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// numericScale reads the decimal places from a numeric's type modifier, which may be negative; has is false for a numeric without.
func numericScale(modifier int32) (scale int, has bool) {
	if modifier < 4 {
		return 0, false
	}
	return int(int16((modifier-4)&0x7ff<<5) >> 5), true
}
