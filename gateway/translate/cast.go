package translate

import (
	"math/big"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// castType is what a value is cast to.
type castType struct {
	oid  uint32
	mods []int64
	// unit is the last field of an interval that a qualifier such as MONTH or DAY TO SECOND leaves, and that of a bare number; empty: there is none.
	unit string
}

// typeOf reads a type name with its modifiers.
func typeOf(n *pg.TypeName) castType {
	names := syntax.Strings(n.Names)
	if len(names) == 2 && names[0] != "pg_catalog" || len(names) > 2 || len(n.ArrayBounds) > 0 || n.Setof || n.PctType {
		fail("cast to this type")
	}
	oid, ok := typeNames[names[len(names)-1]]
	if !ok {
		fail("cast to this type")
	}
	var mods []int64
	for _, m := range n.Typmods {
		c := m.GetAConst()
		if c.GetIval() == nil {
			fail("type modifier")
		}
		mods = append(mods, int64(c.GetIval().GetIval()))
	}
	unit := ""
	if oid == oidInterval && len(mods) > 0 {
		unit = intervalQualifiers[mods[0]]
		if unit == "" || len(mods) > 1 {
			fail("interval qualifier")
		}
	}
	return castType{oid, mods, unit}
}

func (q *query) typeCast(c *pg.TypeCast) expr {
	if len(c.TypeName.ArrayBounds) == 1 {
		return q.arrayTypeCast(c)
	}
	enum := q.t.enumNamed(c.TypeName)
	if enum == nil {
		if e, ok := q.spelledInterval(c); ok {
			return e
		}
	}
	x := q.value(c.Arg)
	if enum != nil {
		return enum.cast(x)
	}
	to := typeOf(c.TypeName)
	e := q.cast(x, to)
	e.modified = e.modified || len(to.mods) > 0
	return e
}

func (q *query) cast(e expr, to castType) expr {
	oid, mods := to.oid, to.mods
	if oid == oidInterval {
		if e.oid == oidInterval && to.unit == "" {
			return e
		}
		if i, ok := e.constantInterval(); ok {
			return intervalLiteral(i.upTo(to.unit))
		}
		text, ok := e.constantText()
		if !ok {
			fail("cast to interval")
		}
		i, ok := parseInterval(text, to.unit)
		if !ok {
			fail("interval constant of this form")
		}
		return intervalLiteral(i)
	}
	switch {
	case e.isNull():
		out := nullOf(oid)
		return out
	case oid == oidNumeric:
		return q.castNumeric(e, mods)
	case oid == oidVarchar || oid == oidBpchar:
		return q.castString(e, oid, mods)
	case len(mods) == 1 && (oid == oidTimestamp || oid == oidTimestampTZ):
		return roundFraction(q.cast(e, castType{oid: oid}), mods[0])
	case len(mods) > 0:
		fail("type modifier")
	case e.isUnknown():
		return q.t.parseLiteral(*e.lit.text, oid)
	case e.oid == oid:
		return e
	}
	return q.castPlain(e, oid)
}

func (q *query) castPlain(e expr, oid uint32) expr {
	if oid != oidText && oid != oidFloat8 {
		e = readNumeric(e)
	}
	switch {
	case e.opaque && e.oid != oidNumeric && !((e.enum || e.oid == oidJSON || e.oid == oidJSONB) && oid == oidText):
		fail("cast of an opaque type")
	case isInteger(e.oid) && isInteger(oid):
		if integerDigits[oid] > integerDigits[e.oid] {
			return widen(e, oid)
		}
		return narrow(e, oid)
	case e.oid == oidNumeric && isInteger(oid):
		rounded := roundTo(e, 0)
		return checkedInteger(unscaled(rounded.orElse(0), 0), oid, e).renulledBy(e)
	case isFloat(e.oid) && isInteger(oid):
		return q.floatToInteger(e, oid)
	case oid == oidText && !isString(e.oid):
		return q.castToText(e)
	case e.oid == oidBool && oid == oidInt4:
		return smallInteger("toInt32("+e.sql+")", 0, 1, e)
	case e.oid == oidInt4 && oid == oidBool:
		return with(oidBool, e.sql+" != 0", e)
	case (e.oid == oidTimestamp || e.oid == oidTimestampTZ) && oid == oidDate:
		e = q.clocked(e)
		return with(oidDate, once(e.sql, func(at string) string {
			return guarded(daysOf(at), outside(at, firstDay*microsPerDay, (lastDay+1)*microsPerDay-1), "timestamp out of range")
		}), e)
	case e.oid == oidTimestampTZ && oid == oidTimestamp:
		return q.clocked(e)
	case (e.oid == oidTimestamp || e.oid == oidTimestampTZ) && oid == oidTime:
		e = q.clocked(e)
		return with(oidTime, q.timeOfDay(e), e)
	}
	if isText(e.oid) {
		if oid == oidTimestamp || oid == oidTimestampTZ {
			return q.parsedMoment(e, oid)
		}
		if out, ok := parsed(e, oid); ok {
			return out
		}
	}
	return q.coerce(e, oid)
}

// renulledBy makes the value NULL where an operand is.
func (e expr) renulledBy(operands ...expr) expr {
	e.sql = renulled(e.sql, operands...)
	return e
}

func narrow(e expr, oid uint32) expr {
	if e.lit != nil {
		i := e.lit.integer
		if i.Cmp(big.NewInt(minOf[oid])) < 0 || i.Cmp(big.NewInt(maxOf[oid])) > 0 {
			fail("constant out of range")
		}
		return integerLiteral(oid, i)
	}
	return checkedInteger(e.sql, oid, e)
}

// castNumeric applies a numeric's modifier: rounds, and guards the number of digits.
func (q *query) castNumeric(e expr, mods []int64) expr {
	if e.isUnknown() {
		e = q.t.parseLiteral(*e.lit.text, oidNumeric)
	}
	if isInteger(e.oid) {
		e = toNumeric(e)
	}
	if isText(e.oid) {
		e = parsedNumeric(e)
	}
	if isFloat(e.oid) {
		e = floatToNumeric(e)
	}
	if len(mods) == 0 && e.oid == oidNumeric {
		return e.plain()
	}
	if e = readNumeric(e); e.oid != oidNumeric || e.opaque {
		fail("cast to numeric from this type")
	}
	precision, scale := int(mods[0]), 0
	if len(mods) > 1 {
		scale = int(mods[1])
	}
	if precision < 1 || precision > maxPrecision || scale < 0 || scale > precision {
		fail("numeric modifier")
	}
	if e.lit != nil {
		n := e.lit.numeric.rescale(scale)
		if len(new(big.Int).Abs(n.unscaled).String()) > precision {
			fail("constant out of range")
		}
		return numericLiteral(n)
	}
	rounded := roundTo(e, scale)
	d := decimal{integer: precision - scale, scale: scale, display: scale}
	if rounded.dec.integer <= d.integer {
		return numericWith(rounded.scaled(d), d, e)
	}
	limit := "CAST('" + pow10(precision-scale).String() + "', 'Decimal(76, 0)')"
	sql := guarded(rounded.sql, "abs("+rounded.sql+") >= "+limit, "numeric field overflow")
	sql = lazy(sql, "CAST(0, '"+rounded.dec.String()+"')") // which the engine's cast may refuse as well
	out := numericWith("CAST("+sql+", '"+d.String()+"')", d, e)
	out.fails = true
	return out
}

// roundTo rounds a numeric, half away from zero, to no more than scale digits after the point.
func roundTo(e expr, scale int) expr {
	if e.dec.scale <= scale {
		d := decimal{integer: e.dec.integer, scale: scale, display: scale}
		return numericWith(e.scaled(d), d, e)
	}
	wide := decimal{integer: e.dec.integer + 1, scale: e.dec.scale}
	if wide.precision() > maxPrecision {
		wide.integer--
	}
	d := decimal{integer: wide.integer, scale: scale, display: scale}
	return numericWith("CAST(round("+e.scaled(wide)+", "+itoa(scale)+"), '"+d.String()+"')", d, e)
}

// castString applies varchar(n), which cuts, and char(n), which also pads.
func (q *query) castString(e expr, oid uint32, mods []int64) expr {
	if e.isUnknown() {
		e = resolveUnknown(e)
	}
	if !isString(e.oid) {
		e = q.castToText(e)
	}
	width := -1
	switch {
	case len(mods) == 1:
		width = int(mods[0])
	case len(mods) > 1:
		fail("type modifier")
	}
	out := e
	if e.oid == oidBpchar && oid == oidVarchar {
		out = q.coerce(e, oidVarchar)
	}
	if width >= 0 {
		out = with(oid, "substringUTF8("+e.sql+", 1, "+itoa(width)+")", e)
		if text, ok := e.constantText(); ok {
			r := []rune(text)
			cut := string(r[:min(len(r), width)])
			if oid == oidBpchar {
				cut = strings.TrimRight(cut, " ")
			}
			lit := textLiteral(oid, cut)
			lit.collation = e.collation
			out = lit
		} else if oid == oidBpchar {
			out.sql = "trimRight(" + out.sql + ")"
		}
		if oid == oidBpchar {
			out.pad = width
		}
	} else if oid == oidBpchar && e.oid != oidBpchar {
		out = trimmed(e)
	}
	out.oid = oid
	return out.plain()
}
