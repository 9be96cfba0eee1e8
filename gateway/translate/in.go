package translate

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// in translates IN over a list. Constants become a set, other elements comparisons.
func (q *query) in(a *pg.A_Expr, negated bool) expr {
	items := a.Rexpr.GetList().GetItems()
	var e expr
	if row := a.Lexpr.GetRowExpr(); row != nil {
		var parts []expr
		l := q.valuesOf(row.Args)
		for _, n := range items {
			r := n.GetRowExpr()
			if r == nil {
				fail("IN over rows and something else")
			}
			parts = append(parts, q.compareRows("=", l, q.valuesOf(r.Args)))
		}
		e = combine(pg.BoolExprType_OR_EXPR, parts)
	} else if first, ok := q.jsonEquals(a.Lexpr, items[0]); ok {
		parts := []expr{first}
		for _, n := range items[1:] {
			part, ok := q.jsonEquals(a.Lexpr, n)
			if !ok {
				fail("IN over json documents and something else")
			}
			parts = append(parts, part)
		}
		e = combine(pg.BoolExprType_OR_EXPR, parts)
	} else {
		e = q.inValues(q.value(a.Lexpr), q.valuesOf(items))
	}
	if negated {
		e = with(oidBool, "NOT ("+e.sql+")", e)
		e.lenient = true
	}
	return e
}

func (q *query) inValues(x expr, items []expr) expr {
	x = q.besideASCII(x, items...)
	if len(items) > 1 { // else it is a comparison as such, with NULL for a constant
		requireComputed(x, items)
	}
	for _, i := range items {
		q.t.env.Dialect.checkOperands(x, i)
	}
	if x.enum {
		parts := make([]expr, len(items))
		for i := range items {
			parts[i] = q.compare("=", x, items[i])
		}
		return combine(pg.BoolExprType_OR_EXPR, parts)
	}
	// PostgreSQL brings all constants among them to one type if it can, and compares with each of the others by itself.
	unified := q.unify(append([]expr{x}, items...))
	sameKind := x.oid == unified[0].oid || x.isUnknown()
	// One constant by itself would be compared with as a text.
	constants := len(items) > 1 && !slices.ContainsFunc(items, func(i expr) bool { return i.lit == nil })
	for _, i := range items {
		sameKind = sameKind && (i.isUnknown() || x.oid == oidBpchar && isText(i.oid) && constants || i.oid == unified[0].oid || isText(i.oid) && isText(x.oid) || isInteger(i.oid) && isInteger(x.oid) || isNumber(i.oid) && (x.oid == oidNumeric || x.oid == oidFloat8))
	}
	exact := isInteger(unified[0].oid) || unified[0].oid == oidNumeric // in which numbers of any type are as different as in their own
	if !sameKind && !(isNumber(x.oid) && exact) {
		fail("IN over values of different types")
	}
	x, items = readNumeric(unified[0]), unified[1:]
	if !isFloat(x.oid) {
		requireGroupable(expr{oid: x.oid, opaque: x.opaque, enum: x.enum})
	}
	var set []string
	var parts []expr
	for _, i := range items {
		if i.lit == nil || i.isNull() || x.oid == oidNumeric || isFloat(x.oid) || x.lit != nil {
			parts = append(parts, q.compare("=", x, i))
			continue
		}
		set = append(set, i.sql)
	}
	if len(set) > 0 {
		e := with(oidBool, x.operand()+" IN ("+strings.Join(set, ", ")+")", x)
		parts = append(parts, e)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	for i := range parts {
		parts[i].keys = nil
	}
	return combine(pg.BoolExprType_OR_EXPR, parts)
}

// pair brings two values to one engine type, to be compared in a set.
func (q *query) pair(l, r expr) (expr, expr) {
	l, r = q.comparable(l, r)
	if (l.opaque || r.opaque) && !(l.enum && r.enum && l.oid == r.oid) || isFloat(l.oid) || isFloat(r.oid) || l.isNull() || r.isNull() {
		fail("IN over values of this type")
	}
	switch {
	case l.oid == oidNumeric:
		d := widest([]expr{l, r})
		l.sql, r.sql = l.scaled(d), r.scaled(d)
	case isInteger(l.oid) && l.oid != r.oid:
		wide := l.oid
		if integerDigits[r.oid] > integerDigits[wide] {
			wide = r.oid
		}
		l, r = q.coerce(l, wide), q.coerce(r, wide)
	}
	return l, r
}
