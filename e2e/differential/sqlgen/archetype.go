package sqlgen

import (
	"fmt"
	"math/rand/v2"
)

// archetype is a sort of column: a declared type with a pool of values that is typical or nasty.
type archetype struct {
	name   string
	decl   string
	t      typ
	weight int
	pool   func(*rand.Rand) []string
}

var archetypes = []archetype{
	{"i2", "int2", intType(Int2, 20), 3, ints(-20, 20, 12)},
	{"i2x", "int2", intType(Int2, 32768), 1, fixed("-32768", "32767", "0", "1", "-1", "300")},
	{"i4", "int4", intType(Int4, 50), 6, ints(-50, 50, 25)},
	{"i4g", "integer", intType(Int4, 6), 4, ints(0, 6, 6)},
	{"i4x", "int4", intType(Int4, 2147483648), 1, fixed("-2147483648", "2147483647", "0", "-1", "65536", "-65537", "123456789")},
	{"i8", "int8", intType(Int8, 1000), 4, ints(-1000, 1000, 30)},
	{"i8x", "bigint", intType(Int8, 9.3e18), 1, fixed("-9223372036854775808", "9223372036854775807", "0", "-1", "4294967296", "9007199254740993")},
	{"n92", "numeric(9,2)", numType(2, 1000), 6, decimals(1000, 2, 25)},
	{"n124", "numeric(12,4)", numType(4, 1e6), 4, decimals(1e6, 4, 25)},
	{"n4", "numeric(4)", numType(0, 9999), 2, decimals(9999, 0, 12)},
	{"n55", "numeric(5,5)", numType(5, 1), 1, fixed("0.00000", "0.00001", "-0.00001", "0.99999", "-0.99999", "0.5", "0.33333")},
	{"n180", "decimal(18,0)", numType(0, 1e18), 1, fixed("999999999999999999", "-999999999999999999", "0", "1", "-7")},
	{"n3810", "numeric(38,10)", numType(10, 1e28), 1, fixed("9999999999999999999999999999.9999999999", "-0.0000000001", "0", "1", "12345678901234567890.5")},
	{"nfree", "numeric", typ{kind: Numeric, scale: varying, max: 1e10, special: true}, 1, fixed("1.0", "1.00", "0", "-0.0", "NaN", "1e3", "0.1234567890123", "Infinity")},
	{"nvar", "numeric", typ{kind: Numeric, scale: varying, max: 1e10}, 2, fixed("1.0", "1.00", "0", "-2.50", "1e3", "0.1234567890123", "123456789.01", "0.33333333333333333333", "-7")},
	{"nalike", "numeric", typ{kind: Numeric, scale: varying, alike: true, max: 1000}, 2, fixed("1.0", "2.25", "-3", "0.125", "0", "999.99")},
	{"b", "boolean", typ{kind: Bool}, 3, fixed("true", "false")},
	{"tx", "text", typ{kind: Text}, 4, nastyText(0)},
	{"word", "text", typ{kind: Text}, 5, fixed("alpha", "beta", "gamma", "delta", "Alpha", "ALPHA", "al", "")},
	{"vc", "varchar(20)", typ{kind: Varchar}, 4, fixed("red", "green", "blue", "Red", "light blue", "a", "", "x-1", "10%", "a_b")},
	{"vn", "varchar(20)", typ{kind: Varchar}, 1, nastyText(20)},
	{"c1", "char(1)", typ{kind: Bpchar, scale: 1}, 2, fixed("A", "B", "R", "N", "", "é", "%")},
	{"c8", "char(8)", typ{kind: Bpchar, scale: 8}, 2, fixed("abc", "abc  ", "", "a b", "ABC", "12345678", "ÄÖ", "a_c", "abd")},
	{"icu", `text COLLATE "en-x-icu"`, typ{kind: Text}, 2, fixed("a", "B", "b", "A", "ä", "Z", "_", "a b", "ab", "it's", `a\b`, "")},
	{"d", "date", typ{kind: Date}, 5, tameDates},
	{"dx", "date", typ{kind: Date, wild: true}, 1, fixed("infinity", "-infinity", "0044-03-15 BC", "4713-11-24 BC", "5874897-12-31", "0001-01-01", "0001-12-31 BC", "9999-12-31", "10000-01-01", "1970-01-01", "1969-12-31", "1900-02-28")},
	{"ts", "timestamp", typ{kind: Timestamp}, 4, tameTimes("")},
	{"tsx", "timestamp", typ{kind: Timestamp, wild: true}, 1, fixed("infinity", "-infinity", "0044-03-15 12:00:00 BC", "294246-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "9999-12-31 23:59:59.5", "0001-01-01 00:00:00")},
	{"tz", "timestamptz", typ{kind: Timestamptz}, 2, tameTimes("+00")},
	{"tzx", "timestamptz", typ{kind: Timestamptz, wild: true}, 1, fixed("infinity", "-infinity", "0044-03-15 12:00:00+00 BC", "1970-01-01 00:00:00+00", "2024-03-31 00:59:59.999999+00", "2024-03-31 01:00:00+00", "2024-11-03 05:30:00+00")},
	{"tm", "time", typ{kind: Time}, 1, fixed("00:00:00", "23:59:59.999999", "24:00:00", "12:30:00", "12:30:00.5", "06:00:01")},
	{"f8", "float8", typ{kind: Float8}, 2, fixed("0", "1.5", "-2.25", "0.1", "1e300", "-1e-300", "123456789.125", "100", "1e23")},
	{"f8x", "float8", typ{kind: Float8, special: true}, 1, fixed("NaN", "Infinity", "-Infinity", "-0", "0", "1", "5e-324")},
	{"f4", "float4", typ{kind: Float4}, 1, fixed("0", "1.5", "0.1", "-3e30", "16777216", "7")},
	{"u", "uuid", typ{kind: UUID}, 1, fixed("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-4000-8000-000000000000", "12345678-9abc-4def-8123-456789abcdef", "80000000-0000-0000-0000-000000000000")},
	{"by", "bytea", typ{kind: Bytea}, 1, fixed(`\x`, `\x00`, `\xff00`, `\x616263`)},
	{"js", "json", typ{kind: JSON}, 1, fixed(`{"a": 1}`, `[1,  2]`, `null`, `"x"`)},
	{"jb", "jsonb", typ{kind: JSONB}, 1, fixed(`{"a": 1}`, `[1, 2]`, `null`, `{"b": {"c": "d"}}`, `{"a": "x y", "b": {"c": -2.50}}`, `{"a": 2.50}`, `{"a": true, "b": null}`, `{"b": {"a": "in", "c": [1, {"a": 2}]}}`, `{"a": "x [y", "b": {"c": "b : c"}}`, `{"a": "\\", "b": {"a": 7}}`, `{"a": {"\"": ":", "b": "}"}, "b": {"c": {"a": "{["}}}`)},
	{"iv", "interval", typ{kind: Interval}, 1, fixed("1 day", "24:00:00", "-1 mon", "1 year 2 mons -3 days 04:05:06.789", "00:00:00")},
	{"ta", "text[]", typ{kind: TextArray}, 2, fixed("{}", "{a}", "{a,b}", `{a,NULL,"b c"}`, "{{a,b},{c,d}}", `{"a,b"}`, `[0:1]={b,"NULL"}`, `{"\\",""}`)},
	{"ia", "int4[]", typ{kind: IntArray}, 2, fixed("{}", "{1}", "{1,2,1}", "{NULL,-3}", "{{1,2},{3,4}}", "[-1:0]={2,1}", "{2147483647}")},
	{"en", "mood", typ{kind: Enum}, 3, fixed("sad", "ok", "happy")},
}

func numType(scale int, limit float64) typ { return typ{kind: Numeric, scale: scale, max: limit} }

func pickArchetype(r *rand.Rand) archetype {
	total := 0
	for _, a := range archetypes {
		total += a.weight
	}
	n := r.IntN(total)
	for _, a := range archetypes {
		if n -= a.weight; n < 0 {
			return a
		}
	}
	panic("unreachable: weights add up")
}

func fixed(values ...string) func(*rand.Rand) []string {
	return func(*rand.Rand) []string { return values }
}

func ints(lo, hi, n int) func(*rand.Rand) []string {
	return func(r *rand.Rand) []string {
		out := []string{"0", fmt.Sprint(lo), fmt.Sprint(hi)}
		for range n {
			out = append(out, fmt.Sprint(lo+r.IntN(hi-lo+1)))
		}
		return out
	}
}

func decimals(limit float64, scale, n int) func(*rand.Rand) []string {
	return func(r *rand.Rand) []string {
		out := []string{"0", "1", "-1", fmt.Sprintf("%.*f", scale, limit-1), fmt.Sprintf("%.*f", scale, 0.5)}
		for range n {
			v := (r.Float64()*2 - 1) * limit
			if r.IntN(2) == 0 {
				v /= 50
			}
			out = append(out, fmt.Sprintf("%.*f", scale, v))
		}
		return out
	}
}

var nasty = []string{
	"", " ", "a", "A", "b", "Z", "z", "abc", "abcd", "ABC", "aBc ", " abc", "a%b", "a_b", `a\b`, `\`, "%", "_", "100%",
	"O'Hara", "tab\there", "new\nline", "ÄÖÜ", "äöü", "straße", "İ", "ǆ", "日本語", "🙂", "e\u0301", "é", "foo bar baz",
	"a,b,c", "0", "12", "-5", "  ", "a  ", "\"q\"", "NULL", "null", "\u00a0", "~", "Ωmega", "ﬁ",
}

func nastyText(limit int) func(*rand.Rand) []string {
	return func(r *rand.Rand) []string {
		var out []string
		for range 14 {
			s := nasty[r.IntN(len(nasty))]
			if r.IntN(3) == 0 {
				s += nasty[r.IntN(len(nasty))]
			}
			if limit > 0 && len([]rune(s)) > limit {
				continue
			}
			out = append(out, s)
		}
		return append(out, "abc")
	}
}

func tameDates(r *rand.Rand) []string {
	out := []string{"2023-12-31", "2024-01-01", "2024-02-29", "2023-02-28", "2024-03-31", "2024-12-30", "2020-01-01"}
	for range 20 {
		out = append(out, fmt.Sprintf("%d-%02d-%02d", 1998+r.IntN(28), 1+r.IntN(12), 1+r.IntN(28)))
	}
	return out
}

func tameTimes(zone string) func(*rand.Rand) []string {
	return func(r *rand.Rand) []string {
		out := []string{"2023-12-31 23:59:59.999999" + zone, "2024-01-01 00:00:00" + zone, "2024-02-29 12:00:00.5" + zone,
			"2024-03-31 01:30:00" + zone, "2024-11-03 06:30:00" + zone}
		for range 20 {
			s := fmt.Sprintf("%d-%02d-%02d %02d:%02d:%02d", 1998+r.IntN(28), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60))
			if r.IntN(3) == 0 {
				s += fmt.Sprintf(".%06d", r.IntN(1000000))
			}
			out = append(out, s+zone)
		}
		return out
	}
}
