package sqlgen

import (
	"fmt"
	"regexp"
	"strings"
)

// arrayOID is the object identifier of the type of arrays of a kind; 0 where arrays of it are not generated.
func (k Kind) arrayOID() uint32 {
	return map[Kind]uint32{
		Bool: 1000, Int2: 1005, Int4: 1007, Int8: 1016, Numeric: 1231, Float8: 1022, Text: 1009, Varchar: 1015, Bpchar: 1014,
		Date: 1182, Timestamp: 1115, Timestamptz: 1185, Time: 1183, UUID: 2951,
	}[k]
}

// quantified compares an expression with the elements of an array.
func (g *gen) quantified(c ctx, depth int) string {
	fam := g.comparableFamily(c)
	e := g.expr(c, fam, depth-1)
	kind, t := g.literalType(fam, e.col)
	if kind.arrayOID() == 0 {
		return g.inList(c, depth)
	}
	op := g.one("= ANY", "= ANY", "= ANY", "<> ALL", "<> ALL", "<> ANY", "= ALL", "< ANY", ">= ALL", "> ANY", "<= ALL")
	g.use("any array")
	if !strings.HasPrefix(op, "= ANY") && !strings.HasPrefix(op, "<> ALL") {
		g.use("any array by another comparison")
	}
	values := make([]*string, g.r.IntN(6))
	for i := range values {
		if g.chance(0.05) {
			g.use("null in an array")
			continue
		}
		v := g.value(fam, e.col, &t)
		values[i] = &v
	}
	return fmt.Sprintf("%s %s (%s)", e.sql, op, g.array(kind, values))
}

// arrayTest asks an array column for its elements; false: there is none at hand.
func (g *gen) arrayTest(c ctx) (string, bool) {
	a := g.leaf(c, famOther)
	kind, fam, values := Text, famStr, []string{"a", "b", "b c", "a,b", "", "NULL", `\\`}
	switch {
	case a.col == nil:
		return "", false
	case a.t.kind == IntArray:
		kind, fam, values = Int4, famInt, []string{"1", "2", "-3", "2147483647"}
	case a.t.kind != TextArray:
		return "", false
	}
	var some []*string
	for range 1 + g.r.IntN(3) {
		some = append(some, &values[g.r.IntN(len(values))])
	}
	if g.chance(0.1) {
		some = append(some, nil)
	}
	g.use("array column")
	value := QuoteLiteral(*some[0])
	if !c.plain && g.chance(0.25) {
		return g.elementTest(a.sql, value), true
	}
	switch g.r.IntN(6) {
	case 0:
		x := g.leaf(c, fam)
		if x.t.kind != Bpchar {
			value = x.sql
		}
		return fmt.Sprintf("%s %s (%s)", value, g.one("= ANY", "<> ALL"), a.sql), true
	case 1:
		return fmt.Sprintf("%s %s (%s)", value, g.one("= ANY", "= ANY", "<> ALL"), a.sql), true
	case 2:
		return fmt.Sprintf("%s %s %s", a.sql, g.one("=", "<>", "IS DISTINCT FROM"), g.array(kind, some)), true
	case 3:
		return fmt.Sprintf("%s %s %d", fmt.Sprintf(g.one("cardinality(%s)", "array_length(%s, 1)"), a.sql), g.one("=", ">", "<"), g.r.IntN(4)), true
	case 4:
		return fmt.Sprintf("%s[%d] = %s", a.sql, 1+g.r.IntN(3), value), true
	}
	return fmt.Sprintf("%s %s %s", a.sql, g.one("@>", "&&", "<@"), g.array(kind, some)), true
}

// elementTest asks a subquery over the elements of an array.
func (g *gen) elementTest(array, value string) string {
	g.use("subquery over elements")
	e := g.alias("e")
	rows := fmt.Sprintf("FROM unnest(%s) %s", array, e)
	if g.chance(0.7) {
		rows += fmt.Sprintf(" WHERE %s %s %s", e, g.one("=", "<>", "IS DISTINCT FROM"), value)
	}
	return fmt.Sprintf(g.one("EXISTS (SELECT 1 %s)", "NOT EXISTS (SELECT %s)", "(SELECT count(*) %s) > 1", "(SELECT count("+e+") %s) = 0", "(SELECT bool_or("+e+" IS NULL) %s)", "(SELECT "+e+" %s LIMIT 1) = "+value), rows)
}

// array writes an array as drivers and people do.
func (g *gen) array(kind Kind, values []*string) string {
	text := g.arrayText(values)
	typed := fmt.Sprintf("%s::%s[]", QuoteLiteral(text), kind.sqlName())
	if g.prepare && len(g.params) < 5 && g.chance(0.7) {
		g.use("array parameter")
		return g.arrayParameter(kind, text)
	}
	switch g.r.IntN(4) {
	case 0:
		g.use("untyped array")
		return QuoteLiteral(text)
	case 1:
		return typed
	}
	items := make([]string, len(values))
	for i, v := range values {
		if items[i] = "NULL"; v != nil {
			items[i] = fmt.Sprintf("%s::%s", QuoteLiteral(*v), kind.sqlName())
		}
	}
	if len(items) == 0 {
		return typed
	}
	list := "ARRAY[" + strings.Join(items, ", ") + "]"
	return g.one(list, list+"::"+kind.sqlName()+"[]", "("+list+")::"+kind.sqlName()+"[]")
}

func (g *gen) arrayParameter(kind Kind, text string) string {
	p := Param{OID: kind.arrayOID(), Type: kind.arrayOID(), Text: &text, Binary: g.chance(0.5)}
	if g.chance(0.04) {
		p.Text = nil
		g.use("null array")
	}
	name := fmt.Sprintf("$%d", len(g.params)+1)
	switch g.r.IntN(4) {
	case 0:
		p.OID = 0
		name += "::" + kind.sqlName() + "[]"
	case 1:
		p.OID, p.Type, p.Binary = Text.OID(), Text.OID(), false
		name += "::" + kind.sqlName() + "[]"
	}
	g.params = append(g.params, p)
	return name
}

var plainElement = regexp.MustCompile(`^[A-Za-z0-9_.:+-]+$`)

func (g *gen) arrayText(values []*string) string {
	items := make([]string, len(values))
	for i, v := range values {
		switch {
		case v == nil:
			items[i] = g.one("NULL", "null")
		case plainElement.MatchString(*v) && !strings.EqualFold(*v, "NULL") && g.chance(0.8):
			items[i] = *v
		default:
			items[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(*v) + `"`
		}
	}
	return "{" + strings.Join(items, g.one(",", ",", ", ", " , ")) + "}"
}
