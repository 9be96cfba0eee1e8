package translate

import (
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// function is a built-in that is translated.
type function struct {
	minArgs, maxArgs int
	translate        func(q *query, name string, args []expr) expr
}

// functions are the built-ins that are translated, by name.
var functions map[string]function

// The translations refer back to the table, so that it cannot be initialised where it is declared.
func init() {
	functions = map[string]function{
		"length": {1, 1, textLength}, "char_length": {1, 1, textLength}, "character_length": {1, 1, textLength},
		"octet_length": {1, 1, octetLength},
		"upper":        {1, 1, changeCase}, "lower": {1, 1, changeCase},
		"substring": {2, 3, substring}, "substr": {2, 3, substring},
		"left": {2, 2, leftRight}, "right": {2, 2, leftRight},
		"btrim": {1, 2, trim}, "ltrim": {1, 2, trim}, "rtrim": {1, 2, trim},
		"strpos": {2, 2, strpos}, "position": {2, 2, strpos},
		"replace": {3, 3, replaceText}, "concat": {1, 50, concat}, "ascii": {1, 1, ascii}, "chr": {1, 1, chr},
		"starts_with": {2, 2, startsWith}, "reverse": {1, 1, reverse}, "lpad": {2, 3, pad}, "rpad": {2, 3, pad},
		"repeat": {2, 2, repeat}, "concat_ws": {2, 50, concatWS}, "split_part": {3, 3, splitPart}, "md5": {1, 1, md5},
		"translate": {3, 3, translateText}, "regexp_replace": {3, 4, regexpReplace}, "regexp_substr": {2, 2, regexpSubstr}, "regexp_like": {2, 3, regexpLike}, "initcap": {1, 1, initCap}, "format": {1, 50, format}, "overlay": {3, 4, overlay},
		"extract": {2, 2, extract}, "date_part": {2, 2, extract}, "date_trunc": {2, 3, dateTrunc}, "date_bin": {3, 3, dateBin},
		"to_char": {2, 2, toChar}, "to_timestamp": {1, 2, toTimestamp}, "to_date": {2, 2, readMoment}, "timezone": {2, 2, atTimeZone},
		"cardinality": {1, 1, cardinality}, "array_length": {2, 2, arrayLength}, "array_upper": {2, 2, arrayLength}, "array_to_string": {2, 3, arrayToString},
		"string_to_array": {2, 2, stringToArray}, "age": {1, 2, age},
		"div": {2, 2, divTrunc}, "sqrt": {1, 1, squareRoot}, "pi": {0, 0, pi}, "power": {2, 2, power}, "pow": {2, 2, power}, "to_hex": {1, 1, toHex}, "width_bucket": {2, 4, widthBucket},
		"num_nulls": {1, 50, countNulls}, "num_nonnulls": {1, 50, countNulls}, "make_date": {3, 3, makeDate}, "isfinite": {1, 1, isFinite},
		"bit_length": {1, 1, bitLength}, "encode": {2, 2, encode}, "overlaps": {4, 4, overlaps}, "quote_literal": {1, 1, quoteLiteral}, "quote_nullable": {1, 1, quoteLiteral},
		"abs": {1, 1, absValue}, "sign": {1, 1, sign}, "mod": {2, 2, mod},
		"round": {1, 2, round}, "trunc": {1, 2, truncate}, "ceil": {1, 1, ceilFloor}, "ceiling": {1, 1, ceilFloor}, "floor": {1, 1, ceilFloor},
	}
}

func (q *query) call(f *pg.FuncCall) expr {
	name := syntax.FunctionName(f)
	if f.Over != nil {
		return q.window(f, name)
	}
	if !isPlainCall(f) {
		fail("aggregate %s here, or in this form", syntax.KnownName(name))
	}
	if e, ok := q.castCall(f, name); ok {
		return e
	}
	switch {
	case syntax.IsNow(name) && len(f.Args) == 0:
		return q.now()
	case name == "make_interval":
		return q.makeInterval(f)
	case name == "jsonb_typeof" && len(f.Args) == 1:
		return q.jsonType(f.Args[0])
	case name == "jsonb_array_length" && len(f.Args) == 1:
		return q.jsonArrayLength(f.Args[0])
	case name == "jsonb_extract_path_text" && len(f.Args) > 1:
		return q.jsonExtract(f.Args)
	}
	if _, ok := jsonBuilders[name]; ok {
		return q.jsonBuild(name, f.Args)
	}
	def, ok := functions[name]
	if !ok {
		if aggregates[name] {
			fail("aggregate where none is allowed")
		}
		fail("function %s", syntax.KnownName(name))
	}
	if len(f.Args) < def.minArgs || len(f.Args) > def.maxArgs {
		fail("function %s of %d arguments", name, len(f.Args))
	}
	args := q.valuesOf(f.Args)
	for _, a := range args {
		if a.isNull() && !takesNulls[name] {
			fail("function of a constant NULL")
		}
	}
	return def.translate(q, name, args)
}

// isPlainCall reports whether a call has nothing but arguments.
func isPlainCall(f *pg.FuncCall) bool {
	return f.Over == nil && f.AggFilter == nil && !f.AggDistinct && !f.AggStar && f.AggOrder == nil && !f.AggWithinGroup && !f.FuncVariadic
}

// takesNulls are the functions that make something of NULLs.
var takesNulls = setOf("concat concat_ws format num_nulls num_nonnulls quote_nullable")

// castCall is a type name used as a function, as in date(x).
func (q *query) castCall(f *pg.FuncCall, name string) (expr, bool) {
	oid, ok := typeNames[name]
	if !ok || len(f.Args) != 1 {
		return expr{}, false
	}
	e := q.value(f.Args[0])
	if e.isUnknown() || oid == oidBpchar || oid == oidVarchar || oid == oidName || oid == oidText || oid == oidNumeric {
		fail("cast in the form of a call")
	}
	return q.castPlain(e, oid), true
}

// number resolves the argument of a function that has versions for all number types.
func (q *query) number(e expr) expr {
	e = readNumeric(e)
	if e.isUnknown() || !isNumber(e.oid) || e.opaque || isFloat(e.oid) {
		fail("numeric function over this type")
	}
	return e
}

func absValue(q *query, name string, args []expr) expr {
	if isFloat(args[0].oid) {
		return q.floatFunction(name, args[0])
	}
	x := q.number(args[0])
	if x.oid == oidNumeric {
		return numericWith("abs("+x.sql+")", x.dec, x)
	}
	return checkedInteger("abs(toInt128("+x.sql+"))", x.oid, x)
}

func sign(q *query, _ string, args []expr) expr {
	x := q.number(args[0])
	if isInteger(x.oid) { // which PostgreSQL has a version in float8 of
		return tame("toFloat64(sign("+x.sql+"))", x)
	}
	d := decimal{integer: 1}
	return numericWith("CAST(sign("+x.sql+"), '"+d.String()+"')", d, x)
}

func mod(q *query, _ string, args []expr) expr { return q.binary("%", args[0], args[1]) }

// places is the constant second argument of round and trunc. It is negative where digits before the point go.
func (q *query) places(args []expr) int {
	if len(args) == 1 {
		return 0
	}
	n, ok := args[1].constantFrom(-30)
	if !ok || n > 30 {
		fail("rounding to places that are not a constant")
	}
	return int(n)
}

func (q *query) roundable(x expr) expr { return q.coerce(q.number(x), oidNumeric) }

// roundedFloat rounds to whole numbers where PostgreSQL does so in float8: floats, and integers, which stay what they are.
func (q *query) roundedFloat(name string, args []expr) (expr, bool) {
	switch {
	case len(args) != 1:
	case isFloat(args[0].oid):
		return q.floatFunction(name, args[0]), true
	case isInteger(args[0].oid):
		return q.coerce(args[0], oidFloat8), true
	}
	return expr{}, false
}

// round keeps the wanted number of digits; a display scale that is larger shrinks, a smaller one grows.
func round(q *query, name string, args []expr) expr {
	if e, ok := q.roundedFloat(name, args); ok {
		return e
	}
	x, n := q.roundable(args[0]), q.places(args)
	if n < 0 {
		return x.without(name, -n)
	}
	return roundTo(x, n)
}

// without is a numeric whose last digits before the point are made zeros, by round or trunc. The engine's function needs as many digits as these are.
func (e expr) without(function string, digits int) expr {
	d := decimal{integer: max(e.dec.integer, digits) + 1}
	wide := decimal{integer: d.integer, scale: e.dec.scale}
	if wide.precision() > maxPrecision {
		fail("numeric of more than %d digits", maxPrecision)
	}
	return numericWith(fmt.Sprintf("CAST(%s(%s, -%d), '%s')", function, e.scaled(wide), digits, d), d, e)
}

func truncate(q *query, name string, args []expr) expr {
	if e, ok := q.roundedFloat(name, args); ok {
		return e
	}
	x, n := q.roundable(args[0]), q.places(args)
	if n < 0 {
		return x.without(name, -n)
	}
	if x.dec.scale <= n {
		return roundTo(x, n)
	}
	d := decimal{integer: x.dec.integer, scale: n, display: n}
	return numericWith("CAST(trunc("+x.sql+", "+itoa(n)+"), '"+d.String()+"')", d, x)
}

func ceilFloor(q *query, name string, args []expr) expr {
	if e, ok := q.roundedFloat(name, args); ok {
		return e
	}
	x := q.roundable(args[0])
	if name == "ceiling" {
		name = "ceil"
	}
	wide := decimal{integer: min(x.dec.integer+1, maxPrecision-x.dec.scale), scale: x.dec.scale}
	d := decimal{integer: wide.integer}
	return numericWith(fmt.Sprintf("CAST(%s(%s), '%s')", name, x.scaled(wide), d), d, x)
}
