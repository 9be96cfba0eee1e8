package translate

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// exactDigits is how many decimal digits every float8 holds: a decimal of no more divided by a power of ten is the float8 that
// PostgreSQL reads from its text.
const exactDigits = 15

// percentile translates percentile_cont and percentile_disc as PostgreSQL computes them in its orderedsetaggs.c: the values are sorted, and
// one of them is picked, or two neighbours are interpolated in float8.
func (q *query) percentile(f *pg.FuncCall, name string) expr {
	if !f.AggWithinGroup || len(f.Args) != 1 || len(f.AggOrder) != 1 || f.AggDistinct || f.FuncVariadic {
		fail("%s in this form", name)
	}
	if f.Args[0].GetAArrayExpr() != nil {
		fail("%s at several fractions", name)
	}
	by := f.AggOrder[0].GetSortBy()
	if by.SortbyDir == pg.SortByDir_SORTBY_DESC || by.SortbyDir == pg.SortByDir_SORTBY_USING {
		fail("%s in descending order", name)
	}
	var x, at expr
	collect := aggregation{q: q, some: true}
	q.ungrouped(func() expr {
		collect.filter, collect.filterFails = q.aggregateFilter(f)
		x, at = resolveUnknown(q.value(by.Node)), q.value(f.Args[0])
		return expr{}
	})
	fraction := fractionOf(at)
	if x.lit != nil {
		fail("%s of a constant", name)
	}
	var value string
	d := expr{oid: oidFloat8, pad: -1}
	if name == "percentile_cont" {
		if !q.t.env.UnfusedFloats {
			fail("%s of a server that multiplies and adds floats at once", name)
		}
		if x.opaque || !isNumber(x.oid) {
			fail("%s over this type", name)
		}
		value = groupableFloat(q.coerce(x, oidFloat8))
	} else {
		value = q.t.choosable(x)
		if d = x.plain(); d.displaysByRow() {
			d.dec.display = displayUnknown
		}
		if x.oid == oidBpchar || x.oid == oidBytea || x.oid == oidUUID {
			fail("%s over this type", name)
		}
	}
	d.null, d.fails = true, x.fails || collect.filterFails
	out := q.aggregated(engineCall{args: "arraySort(" + collect.call("groupArray", value).plain() + ")"}, d)
	values := out.sql
	count := "toInt64(length(" + values + "))"
	if name == "percentile_disc" {
		out.sql = fmt.Sprintf("if(%[1]s = 0, NULL, %[2]s[greatest(1, toInt64(ceil(%[3]s * %[1]s)))])", count, values, fraction)
		if x.enum {
			return q.t.atPosition(out, x)
		}
		return out
	}
	position := "(" + fraction + " * (" + count + " - 1))"
	first, second := values+"[toInt64(floor("+position+")) + 1]", values+"[toInt64(ceil("+position+")) + 1]"
	out.sql = fmt.Sprintf("if(%[1]s = 0, NULL, if(floor(%[2]s) = ceil(%[2]s), %[3]s, %[3]s + (%[2]s - floor(%[2]s)) * (%[4]s - %[3]s)))", count, position, first, second)
	return out
}

// fractionOf is a constant between 0 and 1 as a float8.
func fractionOf(e expr) string {
	if e.lit == nil || e.isNull() {
		fail("percentile at what is not a constant")
	}
	var near float64
	var err error
	switch {
	case e.lit.integer != nil:
		near, _ = new(big.Float).SetInt(e.lit.integer).Float64()
	case e.lit.numeric != nil:
		near, _ = new(big.Rat).SetFrac(e.lit.numeric.unscaled, pow10(e.lit.numeric.scale)).Float64()
	case e.lit.text != nil && (e.isUnknown() || e.oid == oidFloat8):
		near, err = strconv.ParseFloat(strings.TrimSpace(*e.lit.text), 64)
	default:
		fail("percentile at what is not a number")
	}
	if err != nil || !(0 <= near && near <= 1) {
		fail("percentile beyond 0 and 1")
	}
	return floatLiteral(oidFloat8, near, "").sql
}
