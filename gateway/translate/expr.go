package translate

import (
	"fmt"
	"math/big"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/gateway/finish"
)

// expr is a translated expression: the engine's SQL together with what PostgreSQL's type system and the
// engine's representation say about its values.
type expr struct {
	// sql can stand as an operand of any operator, unless it is a condition.
	sql  string
	oid  uint32
	null bool // may be NULL
	// refs is the set of relations, by number, whose columns it reads.
	refs uint64
	// keys is set for an equality between relations.
	keys *equality
	// orders are what holds, beside others, where a condition does.
	orders []ordering
	// lit is set while the value is known at translation.
	lit *literal
	// dec describes a numeric that is not opaque.
	dec       decimal
	collation collation
	// pad is the width that a bpchar is padded to when shown; -1: not known, or not the same for all rows.
	pad int
	// blanks is set where a bpchar has blanks at its end that pad does not tell of.
	blanks *blanks
	// opaque values can be passed through, and compared for equality if enum is set, as it is for arrays of which equal ones have one text.
	opaque, enum bool
	// made is set for an array that the statement spells out.
	made *madeArray
	// low and high bound an integer more narrowly than its type, where bounded.
	bounded   bool
	low, high int64
	// table and attr name the column that this is, unchanged.
	table cdc.TableID
	attr  int16
	// source (counted from 1) and index find it in the translator's sources.
	source, index int
	// origin is what source and index are of the column that this is, through subqueries.
	origin columnID
	// costly values are better computed before a join than after it.
	costly bool
	// tame says that a float is neither NaN nor negative zero.
	tame bool
	// textual says that strings are read for it.
	textual bool
	// fails says that PostgreSQL refuses it for some rows: a division by zero, an overflow.
	fails bool
	// constantNull says that it is made of something that reads no column and may be NULL.
	constantNull bool
	// simplified says that PostgreSQL may make something simpler of it as it plans, which has a type modifier of its own.
	simplified bool
	// modified says that it may have a type modifier, such as the length of a varchar.
	modified bool
	// nonzero says that a number is not zero.
	nonzero bool
	// fixes says that a condition equates a value with a constant.
	fixes bool
	// lenient conditions are expected to hold for most rows: negations.
	lenient bool
	// node is what a condition was translated of; nil: not one that was written.
	node *pg.Node
	// share is the part of the rows that a condition is expected to keep; 0: not known.
	share float64
	// omitted says why the replica has no values of it; empty: it has.
	omitted string
	// ratio says of which operands the value is the quotient.
	ratio *ratio
	// letterCase says of what text it is the lower or upper case.
	letterCase *letterCase
	// fields are the parts of an interval that is computed by the row.
	fields *intervalFields
	// extreme says which of the strings in it package finish shows; its column is void.
	extreme *finish.Extreme
}

// ratio is a division whose quotient package finish may compute instead of the engine.
type ratio struct {
	sql               string // of the quotient: an expression that was made something else has another
	dividend, divisor expr
	// average says that the divisor is a count, which is at least 1.
	average bool
	// spread says that finish makes more than the quotient of it; then the value can only be shown.
	spread finish.Spread
	// scalar makes a scalar subquery of an expression over the operands; nil: they are at hand.
	scalar func(sql string) string
}

// quotient returns the operands if the value is a quotient, as it was computed, and they are at hand.
func (e expr) quotient() *ratio {
	if r := e.division(); r != nil && r.scalar == nil {
		return r
	}
	return nil
}

// division returns what the value is the quotient of, or nil.
func (e expr) division() *ratio {
	if e.ratio == nil || e.ratio.sql != e.sql {
		return nil
	}
	return e.ratio
}

// fail ends the translation; Translate recovers it.
func fail(format string, args ...any) { panic(unsupported(format, args...)) }

// with returns an expression of another SQL text and type over the operands: it reads what they
// read and is NULL only if one of them may be.
func with(oid uint32, sql string, operands ...expr) expr {
	e := expr{sql: sql, oid: oid, pad: -1}
	for _, o := range operands {
		e.refs |= o.refs
		e.null = e.null || o.null
		e.costly = e.costly || o.costly
		e.textual = e.textual || o.textual || isString(o.oid)
		e.fails = e.fails || o.fails
		e.constantNull = e.constantNull || o.constantNull
	}
	if isCollated(oid) {
		e.collation = collationOf(operands...)
	}
	return e
}

// collationOf is the collation of what is made of the operands, or by which they are compared.
func collationOf(operands ...expr) collation {
	var c collation
	for _, o := range operands {
		if isCollated(o.oid) {
			c = c.and(o.collation)
		}
	}
	return c
}

func numericWith(sql string, d decimal, operands ...expr) expr {
	e := with(oidNumeric, sql, operands...)
	if d.precision() > maxPrecision {
		fail("numeric of more than %d digits", maxPrecision)
	}
	e.dec = d
	return e
}

// engineType is the engine's type of the values, without Nullable.
func (e expr) engineType() string {
	if e.opaque {
		return "String"
	}
	switch e.oid {
	case oidBool:
		return "Bool"
	case oidInt2:
		return "Int16"
	case oidInt4, oidDate:
		return "Int32"
	case oidInt8, oidTimestamp, oidTimestampTZ, oidTime, oidInterval:
		return "Int64"
	case oidFloat4:
		return "Float32"
	case oidFloat8:
		return "Float64"
	case oidNumeric:
		return e.dec.String()
	case oidUUID:
		return "FixedString(16)"
	case oidText, oidVarchar, oidName, oidBpchar, oidBytea, oidUnknown:
		return "String"
	}
	fail("values of %s", typeName(e.oid))
	return ""
}

// nullCast begins every NULL that the translation writes.
const nullCast = "CAST(NULL, "

// engineNull is the NULL of an engine's type.
func engineNull(engineType string) string { return nullCast + "'Nullable(" + engineType + ")')" }

// typed returns the SQL with its engine type made explicit, for places where the engine would otherwise choose a type.
func (e expr) typed() string {
	if e.lit != nil && e.lit.null {
		return engineNull(e.engineType())
	}
	if e.sql == "" {
		fail("interval constant that is not in the form of a duration")
	}
	return "CAST(" + e.sql + ", '" + e.engineType() + "')"
}

// computed returns the SQL for places where only NULL counts: there the engine computes neither what can never be NULL nor, if nothing is left of a
// condition, the rows that it is asked of, and so would not fail where PostgreSQL does.
func (e expr) computed() string {
	if e.null {
		return e.sql
	}
	return "CAST(" + e.sql + ", 'Nullable(" + e.engineType() + ")')"
}

// plain drops what is only true of the very column.
func (e expr) plain() expr {
	e.table, e.attr, e.source, e.origin, e.costly, e.textual = 0, 0, 0, columnID{}, false, false
	return e
}

// as returns the expression's description for a column of a subquery.
func (e expr) as(sql string, ref uint64) expr {
	e.sql, e.refs, e.lit, e.source, e.costly, e.textual = sql, ref, nil, 0, false, false
	return e
}

func quote(s string) string { return engine.Literal(s) }

func ident(s string) string { return engine.Quote(s) }

// guarded yields value unless the condition holds, which makes the engine raise a guard.
// The condition is false where it is NULL.
func guarded(value, condition, what string) string {
	return fmt.Sprintf("if(throwIf(%s, %s) = 0, %s, NULL)", lazy("ifNull("+condition+", 0)", "0"), quote("freshet guard: "+what), value)
}

var (
	minOf = map[uint32]int64{oidInt2: -1 << 15, oidInt4: -1 << 31, oidInt8: -1 << 63}
	maxOf = map[uint32]int64{oidInt2: 1<<15 - 1, oidInt4: 1<<31 - 1, oidInt8: 1<<63 - 1}
)

// bounds of an integer expression.
func (e expr) bounds() (low, high *big.Int) {
	if e.lit != nil && !e.lit.null && e.lit.integer != nil {
		return e.lit.integer, e.lit.integer
	}
	if e.bounded {
		return big.NewInt(e.low), big.NewInt(e.high)
	}
	return big.NewInt(minOf[e.oid]), big.NewInt(maxOf[e.oid])
}

// isZero reports whether it is the constant zero.
func (e expr) isZero() bool {
	switch {
	case e.lit == nil:
		return false
	case e.lit.integer != nil:
		return e.lit.integer.Sign() == 0
	case e.lit.numeric != nil:
		return e.lit.numeric.unscaled.Sign() == 0
	}
	return false
}

// mayBeZero reports whether a divisor, which is not the constant zero, may be zero in some row.
func (e expr) mayBeZero() bool { return e.lit == nil && !e.nonzero }

// isNull reports whether it is the constant NULL.
func (e expr) isNull() bool { return e.lit != nil && e.lit.null }

// isUnknown reports whether it is a literal whose type the context decides.
func (e expr) isUnknown() bool { return e.oid == oidUnknown }
