package finish

import (
	"math/big"

	"github.com/ClickHouse/ch-go/proto"
)

// decimal is an operand's value: unscaled / 10^scale, shown with display digits after the point.
type decimal struct {
	unscaled       *big.Int
	scale, display int
}

// addQuotient adds a column that is divided here. A divisor of zero is a guard, or NULL for a spread.
func (d *Decoder) addQuotient(q Quotient, binary bool) {
	write := pick(binary, binaryNumeric, textNumeric)
	dividend, divisor := d.addOperand(q.Dividend), d.addOperand(q.Divisor)
	d.columns = append(d.columns, func(dst []byte, i int) ([]byte, bool, error) {
		a, aSet := dividend(i)
		b, bSet := divisor(i)
		if !aSet || !bSet {
			return dst, false, nil
		}
		if b.unscaled.Sign() == 0 {
			if q.Spread != 0 {
				return dst, false, nil
			}
			return nil, false, errDivisionByZero
		}
		unscaled, scale := divide(a, b)
		switch {
		case q.Spread != 0 && a.unscaled.Sign() <= 0: // PostgreSQL's is a constant
			unscaled, scale = new(big.Int), 0
		case q.Spread == Deviation:
			unscaled = root(unscaled, scale)
		}
		n, err := newNumeric(unscaled.String(), scale, scale)
		if err != nil {
			return nil, false, err
		}
		return write(dst, n), true, nil
	})
}

func (d *Decoder) addOperand(o Operand) func(i int) (decimal, bool) {
	col := proto.NewColNullable[proto.Decimal256](new(proto.ColDecimal256))
	d.target(col)
	display := func(int) int { return o.Display }
	if o.Display == Dynamic {
		scales := proto.NewColNullable[int32](new(proto.ColInt32))
		d.target(scales)
		display = func(i int) int { return int(scales.Row(i).Value) }
	}
	return func(i int) (decimal, bool) {
		v := col.Row(i)
		if !v.Set {
			return decimal{}, false
		}
		return decimal{wideInt(v.Value), o.Scale, display(i)}, true
	}
}

// The limits of select_div_scale in PostgreSQL's numeric.c.
const (
	minSignificantDigits = 16
	maxDisplayScale      = 1000
)

// divide is PostgreSQL's numeric division: rounded half away from zero to the scale of select_div_scale, which aims
// at 16 significant digits and goes by the operands' leading base-10000 digits. b is not zero.
func divide(a, b decimal) (unscaled *big.Int, scale int) {
	aWeight, aLeading := leading(a)
	bWeight, bLeading := leading(b)
	weight := aWeight - bWeight
	if aLeading <= bLeading {
		weight--
	}
	scale = min(max(minSignificantDigits-4*weight, a.display, b.display, 0), maxDisplayScale)
	// a/10^a.scale / (b/10^b.scale) · 10^scale
	shift := scale + b.scale - a.scale
	num, den := new(big.Int).Abs(a.unscaled), new(big.Int).Abs(b.unscaled)
	if shift >= 0 {
		num.Mul(num, pow10(shift))
	} else {
		den.Mul(den, pow10(-shift))
	}
	// Half a unit more, then cut off.
	num.Lsh(num, 1).Add(num, den)
	num.Quo(num, den.Lsh(den, 1))
	if a.unscaled.Sign()*b.unscaled.Sign() < 0 {
		num.Neg(num)
	}
	return num, scale
}

// root is the square root of unscaled / 10^scale, rounded half up to the same scale, as sqrt_var in PostgreSQL's numeric.c rounds it.
func root(unscaled *big.Int, scale int) *big.Int {
	// ⌊√n + 1/2⌋ = ⌊(⌊√4n⌋ + 1) / 2⌋, where n = unscaled · 10^scale
	n := new(big.Int).Mul(unscaled, pow10(scale))
	n.Sqrt(n.Lsh(n, 2))
	return n.Rsh(n.Add(n, big.NewInt(1)), 1)
}

// leading returns the weight and value of the first base-10000 digit that is not zero; both are 0 for zero.
func leading(d decimal) (weight, digit int) {
	if d.unscaled.Sign() == 0 {
		return 0, 0
	}
	abs := new(big.Int).Abs(d.unscaled)
	exponent := len(abs.String()) - 1 - d.scale // of the leading decimal digit
	weight = exponent >> 2                      // rounds down, also below zero
	shift := -d.scale - 4*weight
	if shift >= 0 {
		abs.Mul(abs, pow10(shift))
	} else {
		abs.Quo(abs, pow10(-shift))
	}
	return weight, int(abs.Int64())
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
