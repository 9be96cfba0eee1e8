package cdc

import "testing"

func TestNumericModifier_unpacksWhatPostgreSQLPacks(t *testing.T) {
	pack := func(precision, scale int) int32 { return int32(precision<<16|scale&0x7ff) + 4 }
	for _, c := range []struct {
		modifier         int32
		precision, scale int
		ok               bool
	}{
		{-1, 0, 0, false}, {0, 0, 0, false},
		{pack(12, 2), 12, 2, true}, {pack(1, 0), 1, 0, true}, {pack(1000, 1000), 1000, 1000, true},
		{pack(3, -1000), 3, -1000, true}, {pack(2, 5), 2, 5, true},
	} {
		if precision, scale, ok := NumericModifier(c.modifier); precision != c.precision || scale != c.scale || ok != c.ok {
			t.Errorf("%#x: numeric(%d, %d), %t, want numeric(%d, %d), %t", c.modifier, precision, scale, ok, c.precision, c.scale, c.ok)
		}
	}
}
