package sqlgen

import "fmt"

// literal makes a constant of a family, from the column's own values when one is given; now
// and then NULL.
func (g *gen) literal(fam family, near *column) expr {
	kind, t := g.literalType(fam, near)
	if g.chance(0.03) {
		g.use("null literal")
		return expr{sql: "NULL::" + kind.sqlName(), t: t}
	}
	text := g.value(fam, near, &t)
	return expr{sql: g.render(kind, text, near != nil), t: t}
}

// untypedConstant is NULL or a quoted constant, whose type is that of what stands beside it.
func (g *gen) untypedConstant(fam family) string {
	if g.chance(0.4) {
		return "NULL"
	}
	_, t := g.literalType(fam, nil)
	return QuoteLiteral(g.value(fam, nil, &t))
}

func (g *gen) literalType(fam family, near *column) (Kind, typ) {
	if near != nil {
		return near.t.kind, near.t
	}
	switch fam {
	case famBool:
		return Bool, typ{kind: Bool}
	case famInt:
		return Int4, intType(Int4, 100)
	case famNum:
		return Numeric, numType(2, 1000)
	case famFloat:
		return Float8, typ{kind: Float8}
	case famDate:
		return Date, typ{kind: Date}
	case famTS:
		return Timestamp, typ{kind: Timestamp}
	case famTSTZ:
		return Timestamptz, typ{kind: Timestamptz}
	case famTime:
		return Time, typ{kind: Time}
	case famUUID:
		return UUID, typ{kind: UUID}
	case famEnum:
		return Enum, typ{kind: Enum}
	default:
		return Text, typ{kind: Text}
	}
}

// value picks the text of a constant.
func (g *gen) value(fam family, near *column, t *typ) string {
	if near != nil && len(near.pool) > 0 && g.chance(0.9) {
		return near.pool[g.r.IntN(len(near.pool))]
	}
	switch fam {
	case famBool:
		return g.one("true", "false")
	case famInt:
		t.max = max(t.max, 100)
		return fmt.Sprint(g.r.IntN(120) - 20)
	case famNum:
		t.max = max(t.max, 1000)
		t.scale = 2
		return g.one("0.00", "1.00", "0.50", "12.34", "-7.25", "100.00", "999.99", "-0.01")
	case famFloat:
		return g.one("0", "1.5", "-2", "0.1")
	case famDate:
		return g.one("2024-01-01", "2020-06-15", "2010-12-31", "2024-02-29", "1999-01-01")
	case famTS:
		return g.one("2024-01-01 00:00:00", "2012-06-15 12:30:00", "2024-02-29 23:59:59.5")
	case famTSTZ:
		return g.one("2024-01-01 00:00:00+00", "2012-06-15 12:30:00+02")
	case famTime:
		return g.one("00:00:00", "12:30:00")
	case famUUID:
		return "12345678-9abc-4def-8123-456789abcdef"
	case famEnum:
		return g.one("sad", "ok", "happy")
	default:
		return g.one("a", "b", "abc", "", "alpha", "z")
	}
}

// render writes a constant the ways that people write it; compared says that it stands beside
// a column, so that an untyped literal takes the column's type.
func (g *gen) render(kind Kind, text string, compared bool) string {
	quoted := QuoteLiteral(text)
	var sql string
	switch kind.family() {
	case famBool:
		sql = text
	case famInt, famNum:
		sql = text
		if kind == Numeric && (text == "NaN" || text == "Infinity") {
			sql = quoted + "::numeric"
		} else if text[0] == '-' {
			sql = "(" + text + ")"
		}
		if kind == Int2 && !compared {
			sql += "::int2"
		}
	case famStr:
		sql = quoted
		if !compared || g.chance(0.2) {
			sql += "::text"
		}
	case famOther:
		sql = quoted
	default:
		sql = g.one(fmt.Sprintf("%s::%s", quoted, kind.sqlName()), fmt.Sprintf("CAST(%s AS %s)", quoted, kind.sqlName()), kind.sqlName()+" "+quoted)
		if compared && g.chance(0.4) {
			sql = quoted
		}
	}
	return g.parameter(kind, text, sql)
}

// parameter replaces a constant by a prepared statement's parameter, if the query has any.
func (g *gen) parameter(kind Kind, text, sql string) string {
	if !g.prepare || len(g.params) >= 5 || !g.chance(0.5) || kind.OID() == 0 || kind.sqlName() == "" {
		return sql
	}
	p := Param{OID: kind.OID(), Type: kind.OID(), Text: &text, Binary: g.chance(0.4)}
	if g.chance(0.04) {
		p.Text = nil
		g.use("null parameter")
	}
	name := fmt.Sprintf("$%d", len(g.params)+1)
	if g.chance(0.4) {
		p.OID = 0
		name += "::" + kind.sqlName()
	}
	if p.Binary {
		g.use("binary parameter")
	}
	g.params = append(g.params, p)
	return name
}
