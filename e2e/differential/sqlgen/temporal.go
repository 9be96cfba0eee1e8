package sqlgen

import "fmt"

// dateExpr is date arithmetic; it stays within the calendar.
func (g *gen) dateExpr(c ctx, depth int) expr {
	date := typ{kind: Date}
	switch g.weighted(4, 3, 2, 1) {
	case 0:
		a := g.expr(c, famDate, depth-1)
		if a.t.wild {
			return a
		}
		g.use("date ± integer")
		if g.chance(0.7) {
			return expr{sql: fmt.Sprintf("(%s %s %d)", a.sql, g.one("+", "-"), g.r.IntN(400)), t: date}
		}
		n := g.expr(c, famInt, depth-1)
		if n.t.max > 10000 || n.t.kind == Int8 {
			return a
		}
		return expr{sql: fmt.Sprintf("(%s + %s)", a.sql, n.sql), t: date}
	case 1:
		a := g.expr(c, []family{famDate, famTS}[g.r.IntN(2)], depth-1)
		g.use("date_trunc")
		if a.t.wild {
			return g.leaf(c, famDate)
		}
		return expr{sql: fmt.Sprintf("date_trunc('%s', %s)::date", g.one("month", "year", "week", "quarter", "day"), a.sql), t: date}
	case 2:
		a := g.expr(c, famTS, depth-1)
		g.use("timestamp to date")
		return expr{sql: a.sql + "::date", t: typ{kind: Date, wild: a.t.wild}}
	default:
		a := g.expr(c, famDate, depth-1)
		if a.t.wild {
			return a
		}
		g.use("date ± interval")
		return expr{sql: fmt.Sprintf("(%s + %s)::date", a.sql, g.interval()), t: date}
	}
}

func (g *gen) interval() string {
	return g.one("interval '1 day'", "interval '3 months'", "interval '1 year'", "interval '1 month'", "interval '-7 days'",
		"interval '2 hours'", "interval '90' day", "'1 week'::interval", "interval '1 year 2 months 3 days'",
		"(interval '1 day' * 30)", "(-2 * interval '1 mon 2 days 01:30')", "(interval '1 month' - interval '36 hours')", "make_interval(weeks => 2, mins => -5)")
}

// duration is the difference of two moments, one of them a timestamp.
func (g *gen) duration(c ctx, depth int) (string, bool) {
	of := [][2]family{{famTS, famTS}, {famTS, famTS}, {famTSTZ, famTSTZ}, {famTS, famDate}, {famDate, famTS}, {famTS, famTSTZ}}[g.r.IntN(6)]
	a, b := g.expr(c, of[0], depth-1), g.expr(c, of[1], depth-1)
	if a.t.wild || b.t.wild {
		return "", false
	}
	g.use("timestamp - timestamp")
	return fmt.Sprintf("(%s - %s)", a.sql, b.sql), true
}

// rowInterval is an interval that is computed by the row, also of months.
func (g *gen) rowInterval(c ctx, depth int) (string, bool) {
	if g.chance(0.4) {
		fam := []family{famDate, famTS, famTSTZ}[g.r.IntN(3)]
		a, b := g.expr(c, fam, depth-1), g.expr(c, fam, depth-1)
		if a.t.wild || b.t.wild {
			return "", false
		}
		g.use("age")
		return fmt.Sprintf("age(%s, %s)", a.sql, b.sql), true
	}
	a, b := g.leaf(c, famInt).sql, g.leaf(c, famInt).sql
	g.use("interval by a column")
	return g.one("("+a+" % 40 * interval '1 day')", "(interval '1 mon -3 days 02:30' * ("+a+" % 20))", "make_interval(days => ("+a+" % 40)::int)",
		"make_interval(months => ("+a+" % 20)::int, mins => ("+b+" % 500)::int)", "make_interval(hours => ("+a+" % 100)::int)"), true
}

// fieldOfInterval is a whole number that an interval has.
func (g *gen) fieldOfInterval(c ctx, depth int) (string, bool) {
	if g.chance(0.5) {
		d, ok := g.duration(c, depth)
		g.use("extract from an interval")
		return fmt.Sprintf(g.one("extract(epoch from %s)::bigint", "date_part('epoch', %s)::bigint", "extract(day from %s)::int", "extract(hour from %s)", "date_part('minute', %s)"), d), ok
	}
	i, ok := g.rowInterval(c, depth)
	return fmt.Sprintf(g.one("extract(year from %s)", "extract(month from %s)::int", "date_part('day', %s)", "extract(hour from %s)", "extract(epoch from %s)"), i), ok
}

// durationAggregate is an aggregate of durations.
func (g *gen) durationAggregate(c ctx) (expr, bool) {
	d, ok := g.duration(c, 1)
	g.use("aggregate of intervals")
	return expr{sql: fmt.Sprintf("%s(%s)", g.one("sum", "avg", "avg", "min", "max"), d), t: typ{kind: Interval}}, ok
}

// timestampExpr is arithmetic on timestamps with or without a zone.
func (g *gen) timestampExpr(c ctx, fam family, depth int) expr {
	kind := Timestamp
	if fam == famTSTZ {
		kind = Timestamptz
	}
	a := g.expr(c, fam, depth-1)
	if a.t.wild {
		return a
	}
	switch g.r.IntN(5) {
	case 0:
		g.use("timestamp ± interval")
		return expr{sql: fmt.Sprintf("(%s %s %s)", a.sql, g.one("+", "-"), g.interval()), t: typ{kind: kind}}
	case 1:
		g.use("date_trunc")
		return expr{sql: fmt.Sprintf("date_trunc('%s', %s)", g.one("month", "year", "week", "quarter", "day", "hour", "minute", "second"), a.sql), t: typ{kind: kind}}
	case 2:
		d := g.expr(c, famDate, depth-1)
		if d.t.wild || fam == famTSTZ {
			return a
		}
		g.use("date to timestamp")
		return expr{sql: d.sql + "::timestamp", t: typ{kind: Timestamp}}
	case 3:
		other := famTS
		if fam == famTS {
			other = famTSTZ
		}
		b := g.expr(c, other, depth-1)
		if b.t.wild {
			return a
		}
		g.use("at time zone")
		return expr{sql: fmt.Sprintf("(%s AT TIME ZONE '%s')", b.sql, g.one(append([]string{"UTC"}, TimeZones...)...)), t: typ{kind: kind}}
	default:
		return a
	}
}
