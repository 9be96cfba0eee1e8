package ch

import "math/rand/v2"

const (
	alphanumerics = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	digits        = "0123456789"
)

// The constants C of TPC-C's NURand (clause 2.1.6). The one for last names differs between load and run by
// a delta that clause 2.1.6.1 allows (65 to 119, but not 96 or 112).
const (
	cLastLoad = 123
	cLastRun  = 204
	cCustomer = 517
	cItem     = 3907
)

// stream returns the random numbers of one unit of work. Streams of different keys are independent, so that
// the data does not depend on the order in which units are done.
func stream(seed uint64, unit string, keys ...int) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	mix := func(b byte) { h = (h ^ uint64(b)) * 1099511628211 }
	for i := range len(unit) {
		mix(unit[i])
	}
	for _, k := range keys {
		for shift := 0; shift < 32; shift += 8 {
			mix(byte(k >> shift))
		}
	}
	return rand.New(rand.NewPCG(seed, h))
}

// between draws uniformly from [low, high].
func between(rng *rand.Rand, low, high int) int { return low + rng.IntN(high-low+1) }

// nuRand is TPC-C's non-uniform distribution over [x, y].
func nuRand(rng *rand.Rand, a, c, x, y int) int {
	return ((between(rng, 0, a)|between(rng, x, y))+c)%(y-x+1) + x
}

func appendRandom(b []byte, rng *rand.Rand, alphabet string, low, high int) []byte {
	n := between(rng, low, high)
	base := uint64(len(alphabet))
	for n > 0 {
		// Nine characters of at most 62 letters from one draw: no letter is a thousandth more likely than another.
		v := rng.Uint64()
		for i := 0; i < 9 && n > 0; i++ {
			b = append(b, alphabet[v%base])
			v /= base
			n--
		}
	}
	return b
}

// appendString appends TPC-C's "a-string": letters of both cases and digits.
func appendString(b []byte, rng *rand.Rand, low, high int) []byte {
	return appendRandom(b, rng, alphanumerics, low, high)
}

// appendDigits appends TPC-C's "n-string".
func appendDigits(b []byte, rng *rand.Rand, low, high int) []byte {
	return appendRandom(b, rng, digits, low, high)
}

func randomString(rng *rand.Rand, low, high int) string {
	return string(appendString(nil, rng, low, high))
}

// appendData appends the data of an item or stock row: one in ten contains ORIGINAL.
func appendData(b []byte, rng *rand.Rand) []byte {
	start := len(b)
	b = appendString(b, rng, 26, 50)
	if rng.IntN(10) == 0 {
		const mark = "ORIGINAL"
		copy(b[start+rng.IntN(len(b)-start-len(mark)+1):], mark)
	}
	return b
}

// appendZip appends four random digits and 11111.
func appendZip(b []byte, rng *rand.Rand) []byte {
	return append(appendDigits(b, rng, 4, 4), "11111"...)
}

var syllables = [10]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

// lastName makes a customer's last name from a number below 1000.
func lastName(n int) string {
	return syllables[n/100] + syllables[n/10%10] + syllables[n%10]
}

// permutation returns the numbers 1 to n in random order.
func permutation(rng *rand.Rand, n int) []int {
	p := rng.Perm(n)
	for i := range p {
		p[i]++
	}
	return p
}
