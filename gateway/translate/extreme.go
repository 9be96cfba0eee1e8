package translate

import "fmt"

// extreme is min or max.
func (a aggregation) extreme(name string, x expr, null bool, place func(engineCall, expr) expr) expr {
	if x.oid == oidBool || x.oid == oidUUID || x.oid == oidBytea {
		fail("%s over this type", name)
	}
	if x.enum {
		p := a.q.t.position(x)
		d := p.plain()
		d.null, d.lit = null, nil
		return a.q.t.atPosition(place(a.call(name, p.sql), d), x)
	}
	value := a.q.t.choosable(x)
	d := x.plain()
	d.null, d.lit = null, nil // of a constant too: there may be no row
	switch d.oid {
	case oidVarchar, oidName:
		d.oid = oidText
	case oidNumeric:
		if x.displaysByRow() {
			d.dec.displaySQL = ""
			e := place(a.call(name, value), d)
			e.dec.displaySQL = a.extremeDisplay(name, x, place)
			return e
		}
	}
	return place(a.call(name, value), d)
}

// scaleRoom is above all display scales of what displays differently by row.
const scaleRoom = 100

// extremeDisplay is the display scale of an extreme. PostgreSQL shows the value that it finds first of equal ones: where they display
// differently, a guard gives the statement to it. Values are compared with their scales behind as two digits more, and with what their scales
// lack to 99: the extremes' last digits are the scale and what it lacks, if all have one.
func (a aggregation) extremeDisplay(name string, x expr, place func(engineCall, expr) expr) string {
	if x.dec.precision()+2 > maxPrecision {
		fail("%s of numerics of so many digits", name)
	}
	packed := decimal{integer: maxPrecision}
	digits := unscaled(x.orElse(0), x.dec.scale)
	behind := func(two string) expr {
		key := fmt.Sprintf("reinterpret(%s * %d + %s, '%s')", digits, scaleRoom, two, packed)
		return place(a.call(name, renulled(key, x)), expr{oid: oidNumeric, null: true, pad: -1, dec: packed})
	}
	last := func(e expr) string {
		return fmt.Sprintf("positiveModulo(%s, %d)", unscaled(e.orElse(0), 0), scaleRoom)
	}
	scale := behind("ifNull(" + x.dec.displaySQL + ", 0)")
	lack := behind(fmt.Sprintf("%d - ifNull(%s, 0)", scaleRoom-1, x.dec.displaySQL))
	return renulled(fmt.Sprintf("toInt32(%s + throwIf(%s + %s NOT IN (0, %d), 'freshet guard: equal extremes that display differently'))",
		last(scale), last(scale), last(lack), scaleRoom-1), scale)
}
