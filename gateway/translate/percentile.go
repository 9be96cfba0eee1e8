package translate

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/arraytext"
)

// exactDigits is how many decimal digits every float8 holds: a decimal of no more divided by a power of ten is the float8 that
// PostgreSQL reads from its text.
const exactDigits = 15

// percentile translates percentile_cont and percentile_disc as PostgreSQL computes them in its orderedsetaggs.c: the values are sorted, and
// one of them is picked, or two neighbours are interpolated in float8. At an array of fractions an array is made of what each picks.
func (q *query) percentile(f *pg.FuncCall, name string) expr {
	if !f.AggWithinGroup || len(f.Args) != 1 || len(f.AggOrder) != 1 || f.AggDistinct || f.FuncVariadic {
		fail("%s in this form", name)
	}
	by := f.AggOrder[0].GetSortBy()
	if by.SortbyDir == pg.SortByDir_SORTBY_USING {
		fail("%s ordered by an operator", name)
	}
	var x expr
	var fractions []string
	collect := aggregation{q: q, some: true}
	q.ungrouped(func() expr {
		collect.filter, collect.filterFails = q.aggregateFilter(f)
		x, fractions = resolveUnknown(q.value(by.Node)), q.fractions(f.Args[0])
		return expr{}
	})
	if x.lit != nil {
		fail("%s of a constant", name)
	}
	value, d := q.ranked(x, name)
	d.null, d.fails = true, x.fails || collect.filterFails
	sort := "arraySort"
	if isDescending(by) {
		sort = "arrayReverseSort"
	}
	values := q.aggregated(engineCall{args: sort + "(" + collect.call("groupArray", value).plain() + ")"}, d)
	picked := make([]expr, len(fractions))
	for i, fraction := range fractions {
		switch picked[i] = values; {
		case fraction == "":
			picked[i] = nullOf(d.oid)
		case name == "percentile_cont":
			picked[i].sql = interpolated(values.sql, fraction)
		default:
			picked[i].sql = fmt.Sprintf("%[1]s[greatest(1, toInt64(ceil(%[2]s * length(%[1]s))))]", values.sql, fraction)
		}
		if x.enum && fraction != "" {
			picked[i] = q.t.atPosition(picked[i], x)
		}
	}
	out := picked[0]
	if q.manyFractions(f.Args[0]) {
		out = q.percentiles(picked, values)
	}
	out.sql = "if(empty(" + values.sql + "), NULL, " + out.sql + ")"
	return out
}

// ranked is what a percentile sorts, and describes the values that it picks.
func (q *query) ranked(x expr, name string) (value string, d expr) {
	if name == "percentile_cont" {
		if !q.t.env.UnfusedFloats {
			fail("%s of a server that multiplies and adds floats at once", name)
		}
		if x.opaque || !isNumber(x.oid) {
			fail("%s over this type", name)
		}
		return groupableFloat(q.coerce(x, oidFloat8)), expr{oid: oidFloat8, pad: -1}
	}
	value = q.t.choosable(x)
	if d = x.plain(); d.displaysByRow() {
		d.dec.display = displayUnknown
	}
	if x.oid == oidBpchar || x.oid == oidBytea || x.oid == oidUUID {
		fail("%s over this type", name)
	}
	return value, d
}

// interpolated is between two neighbours of sorted values.
func interpolated(values, fraction string) string {
	position := "(" + fraction + " * (toInt64(length(" + values + ")) - 1))"
	first, second := values+"[toInt64(floor("+position+")) + 1]", values+"[toInt64(ceil("+position+")) + 1]"
	return fmt.Sprintf("if(floor(%[1]s) = ceil(%[1]s), %[2]s, %[2]s + (%[1]s - floor(%[1]s)) * (%[3]s - %[2]s))", position, first, second)
}

// percentiles is the array of several. Of floats, whose digits package finish writes, it has the engine's.
func (q *query) percentiles(picked []expr, values expr) expr {
	if values.oid != oidFloat8 {
		for i := range picked {
			picked[i].oid = values.oid
		}
		out := q.arrayOf(array{oid: values.oid, elements: picked})
		out.null, out.made = true, nil
		return out
	}
	texts := make([]string, len(picked))
	for i, e := range picked {
		texts[i] = "ifNull(toString(" + e.sql + "), '" + arraytext.Nullary + "')"
	}
	out := values
	out.oid, out.opaque, out.sql = pgtype.Float8ArrayOID, true, "concat("+strings.Join(texts, ", ',', ")+")"
	return out
}

// fractions are constants between 0 and 1 as float8, of a single one or an array; empty: NULL in an array.
func (q *query) fractions(n *pg.Node) []string {
	if !q.manyFractions(n) {
		return []string{fractionOf(q.value(n))}
	}
	a := q.array(n)
	if a.null || len(a.elements) == 0 {
		fail("percentiles at no fraction")
	}
	out := make([]string, len(a.elements))
	for i, e := range a.elements {
		if !e.isNull() {
			out[i] = fractionOf(e)
		}
	}
	return out
}

// manyFractions reports whether a percentile is asked for at an array of fractions.
func (q *query) manyFractions(n *pg.Node) bool {
	if p := n.GetParamRef(); p != nil {
		return elementTypes[q.t.paramType(p.Number)] != 0
	}
	return n.GetAArrayExpr() != nil || len(n.GetTypeCast().GetTypeName().GetArrayBounds()) > 0
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
