package finish

import (
	"math/big"
	"testing"

	"github.com/ClickHouse/ch-go/proto"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The expected values are PostgreSQL 18's, of the values 1, 2 and 4; of 0.10 and 0.20; of two that are equal; of one; and of none.
func TestDecoder_finishesSpreadsAsPostgreSQL(t *testing.T) {
	// N·Q - S², N·(N-1) and N² of each.
	dividends := []*big.Int{big.NewInt(14_0000), big.NewInt(100), big.NewInt(0), big.NewInt(0), nil}
	samples, populations := []int64{6, 2, 2, 0, 0}, []int64{9, 4, 4, 1, 0}
	for _, tt := range []struct {
		name     string
		spread   Spread
		divisors []int64
		want     []string
	}{
		{"var_samp", Variance, samples, []string{`"2.3333333333333333"`, `"0.00500000000000000000"`, `"0"`, "NULL", "NULL"}},
		{"var_pop", Variance, populations, []string{`"1.5555555555555556"`, `"0.00250000000000000000"`, `"0"`, `"0"`, "NULL"}},
		{"stddev_samp", Deviation, samples, []string{`"1.5275252316519467"`, `"0.07071067811865475244"`, `"0"`, "NULL", "NULL"}},
		{"stddev_pop", Deviation, populations, []string{`"1.2472191289246471"`, `"0.05000000000000000000"`, `"0"`, `"0"`, "NULL"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			q := &Quotient{Dividend: Operand{Scale: 4, Display: 4}, Spread: tt.spread}
			d, err := NewDecoder([]Column{{Name: "v", Kind: Numeric, Quotient: q}}, []int16{0}, Style{})
			if err != nil {
				t.Fatal(err)
			}
			target := d.Results()
			dividend, divisor := target[0].Data.(*proto.ColNullable[proto.Decimal256]), target[1].Data.(*proto.ColNullable[proto.Decimal256])
			for i, v := range dividends {
				if v == nil {
					dividend.Append(proto.Null[proto.Decimal256]())
				} else {
					dividend.Append(proto.NewNullable(proto.Decimal256{Low: proto.UInt128{Low: v.Uint64()}}))
				}
				divisor.Append(proto.NewNullable(proto.Decimal256{Low: proto.UInt128{Low: uint64(tt.divisors[i])}}))
			}
			if diff := cmp.Diff(tt.want, encoded(t, d)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoot_isTheNearestValueOfItsScale(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, scale := rapid.Uint64().Draw(t, "unscaled"), rapid.IntRange(0, 30).Draw(t, "scale")
		unscaled := new(big.Int).SetUint64(n)
		r := root(unscaled, scale)
		// (r - 1/2)² ≤ n·10^scale < (r + 1/2)², times four
		exact := new(big.Int).Mul(unscaled, pow10(scale))
		exact.Lsh(exact, 2)
		twice := new(big.Int).Lsh(r, 1)
		below, above := new(big.Int).Sub(twice, big.NewInt(1)), new(big.Int).Add(twice, big.NewInt(1))
		if r.Sign() > 0 && below.Mul(below, below).Cmp(exact) > 0 || above.Mul(above, above).Cmp(exact) <= 0 {
			t.Fatalf("root of %v/10^%d: %v", unscaled, scale, r)
		}
	})
}
