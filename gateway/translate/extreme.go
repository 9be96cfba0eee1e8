package translate

import (
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/finish"
)

// extreme is min or max.
func (a aggregation) extreme(name string, x expr, null bool, place func(engineCall, expr) expr) expr {
	if x.oid == oidBool || x.oid == oidUUID || x.oid == oidBytea {
		fail("%s over this type", name)
	}
	if a.shown && a.q.t.isRanked(x) && x.lit == nil && x.oid != oidBpchar {
		return a.candidates(name, x, place)
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

// shownExtreme translates what the client sees. If it is a min or a max of strings that PostgreSQL has to rank, it is what package finish chooses from.
func (q *query) shownExtreme(n *pg.Node) expr {
	if q.t.env.Dialect == PostgreSQL {
		q.shownCall = n.GetFuncCall()
		defer func() { q.shownCall = nil }()
	}
	return q.shown(n)
}

// candidates are the different strings of which one is the extreme under a collation that is not bytewise. There is nothing to do with them but to show
// the one that package finish chooses.
func (a aggregation) candidates(name string, x expr, place func(engineCall, expr) expr) expr {
	call, args := "groupUniqArray", x.sql
	if a.filter != "" {
		call, args = call+"If", filtered(args, a.filter)+", "+a.filter
	}
	d := x.plain()
	d.oid, d.null, d.opaque, d.collation = oidText, true, true, collation{}
	d.extreme = &finish.Extreme{Collation: a.q.t.named(x.collation), Greatest: name == "max"}
	e := place(engineCall{function: fmt.Sprintf("%s(%d)", call, finish.MostSorted+1), args: args}, d)
	e.sql = "toJSONString(" + e.sql + ")"
	return e
}
