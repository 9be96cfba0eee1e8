package finish

import (
	"math"
	"math/big"
	"strconv"
)

// appendFloat writes the digits of PostgreSQL: as few as read back as the same value however a reader rounds, so that a number
// half way to another float is none of them (acceptBounds in its d2s.c and f2s.c). The notation is positional for
// decimal exponents from -4 to below digits.
func appendFloat(dst []byte, v float64, bits, digits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	case v == 0:
		return strconv.AppendFloat(dst, v, 'f', -1, bits)
	}
	if v < 0 {
		dst, v = append(dst, '-'), -v
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
	e := len(dst) - 1
	for dst[e] != 'e' {
		e--
	}
	exponent, _ := strconv.Atoi(string(dst[e+1:])) // strconv wrote it
	switch {
	case exponent >= -4 && exponent < digits:
		return strconv.AppendFloat(dst[:start], v, 'f', -1, bits)
	case exponent < digits: // half way between two floats of less than 2^53, or 2^24, there are more digits than are ever written
		return dst
	}
	// Rounded to more digits it is no further from v, so that it still reads back.
	for fraction := max(e-start-2, 0); isHalfway(string(dst[start:]), v, bits); {
		fraction++
		dst = strconv.AppendFloat(dst[:start], v, 'e', fraction, bits)
	}
	return dst
}

// isHalfway reports whether a decimal is as near to a neighbour of v, which is positive, as to v.
func isHalfway(decimal string, v float64, bits int) bool {
	exact, _ := new(big.Rat).SetString(decimal)
	twice := exact.Add(exact, exact)
	for _, side := range []float64{0, math.Inf(1)} {
		neighbour := math.Nextafter(v, side)
		if bits == 32 {
			neighbour = float64(math.Nextafter32(float32(v), float32(side)))
		}
		if math.IsInf(neighbour, 0) {
			continue
		}
		sum := new(big.Rat).SetFloat64(v)
		if sum.Add(sum, new(big.Rat).SetFloat64(neighbour)).Cmp(twice) == 0 {
			return true
		}
	}
	return false
}
