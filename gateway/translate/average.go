package translate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// PostgreSQL's average of integers and numerics is a quotient whose scale depends on its digits: dear to write, to plan and to
// compute. A comparison does without it, by the sum and the count. So a subquery gives these beside or instead of an average,
// as its column says that it is read.

// The columns with an average's operands are called like the average's, and these.
const (
	dividendSuffix = "n"
	divisorSuffix  = "d"
)

// averagesOf finds the averages among output columns.
func averagesOf(targets []target) map[int]*ratio {
	averages := map[int]*ratio{}
	for i, t := range targets {
		if r := t.e.quotient(); r != nil && r.average && r.dividend.dec.display >= 0 {
			averages[i] = r
		}
	}
	return averages
}

// narrowed lists the output columns that are read, where only averages may be left out.
func narrowed(items []string, averages map[int]*ratio, reads func(name string) bool) string {
	var list []string
	for i, item := range items {
		name := "c" + strconv.Itoa(i+1)
		a := averages[i]
		if a == nil || reads(name) || reads(name+"s") {
			list = append(list, item)
		}
		if a != nil && (reads(name+dividendSuffix) || reads(name+divisorSuffix)) {
			list = append(list, a.dividend.sql+" AS "+name+dividendSuffix, a.divisor.sql+" AS "+name+divisorSuffix)
		}
	}
	return selectList(list)
}

// of is the average that a subquery's output column holds, which is known by that text outside.
func (r *ratio) of(column string, refs uint64) *ratio {
	return &ratio{
		sql: column, average: true,
		dividend: r.dividend.as(column+dividendSuffix, refs), divisor: r.divisor.as(column+divisorSuffix, refs),
	}
}

// in is the average that a subquery of one row and one column stands for.
func (r *ratio) in(from *rows, sql string) *ratio {
	average := r.of("c1", 0)
	average.sql = sql
	average.scalar = func(value string) string {
		return selecting(value + " FROM (" + from.narrow(func(name string) bool { return mentions(value, name) }) + "))")
	}
	return average
}

// isSingleRow reports whether a query aggregates all rows to one.
func isSingleRow(s *pg.SelectStmt) bool {
	return isGrouped(s) && len(s.GroupClause) == 0 && s.HavingClause == nil && s.Op == pg.SetOperation_SETOP_NONE
}

// tell hands the text of all that reads a join tree to the subqueries in it that depend on it.
func (n *tree) tell(readers func() string) {
	var told []*tree
	n.walk(func(t *tree) {
		if t.narrow != nil {
			told = append(told, t)
		}
	})
	if len(told) == 0 {
		return
	}
	text := readers()
	for _, t := range told {
		t.narrow(text)
	}
}

// conditions is the text of all join conditions of a tree.
func (n *tree) conditions() string {
	var b strings.Builder
	n.walk(func(t *tree) { b.WriteString(all(t.conds)) })
	return b.String()
}

func (n *tree) walk(visit func(*tree)) {
	visit(n)
	for _, p := range slices.Concat(n.parts, []*tree{n.left, n.right}) {
		if p != nil {
			p.walk(visit)
		}
	}
}

// mentions reports whether a name occurs in SQL, and not just as the beginning of a longer one.
func mentions(sql, name string) bool {
	for {
		_, after, found := strings.Cut(sql, name)
		if !found {
			return false
		}
		if after == "" || !isNameByte(after[0]) {
			return true
		}
		sql = after
	}
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// comparisonDigits is how many digits are computed with when a value is compared with an average.
const comparisonDigits = 38

// compareAverage compares x with an average A/B without dividing: x·B with A, or, where all rows have the same average, x with the
// nearest value of its scale above or below.
//
// PostgreSQL compares x with the quotient rounded to d digits, where d is at least 16 less four times the difference of the
// operands' weights (select_div_scale in its numeric.c; a weight is the exponent to base 10,000). The rounded quotient is
// on the same side of x as the exact one, unless it is x itself, and then x·B differs from A by B·10^-d/2 at most. Both
// are multiples of 10^-m, where m is the larger scale of x and A. So they are equal, as long as B·10^m < 2·10^d. Where that
// is not certain a guard gives the statement to PostgreSQL: beyond a thousand million rows, as a rule.
func compareAverage(op string, l, r expr) (expr, bool) {
	a, x := r.division(), l
	flip := a == nil || !a.average
	if flip {
		a, x, op = l.division(), r, mirrored[op]
	}
	if a == nil || !a.average || x.oid != oidNumeric || x.opaque || x.division() != nil {
		return expr{}, false
	}
	m := max(x.dec.scale, a.dividend.dec.scale)
	if m > 8 || x.dec.integer+a.divisor.dec.integer+m > comparisonDigits || a.dividend.dec.integer+m > comparisonDigits {
		return expr{}, false
	}
	// 10^(4·weight) is |A| at most, or 1 for none, and more than B/10,000.
	uncertain := fmt.Sprintf("toFloat64(%[1]s) * greatest(abs(toFloat64(%[2]s)), 1) > %[3]s * if(%[1]s < 10000, 1., if(%[1]s < 100000000, 1e4, 1e8))",
		a.divisor.sql, a.dividend.sql, strconv.FormatFloat(1.9e16/math.Pow10(m), 'g', -1, 64))
	certain := func(value string) string {
		return guarded(value, uncertain, "comparison with an average of so many rows")
	}
	d := decimal{integer: comparisonDigits - m, scale: m}
	var sql string
	if a.scalar != nil {
		sql = x.operand() + " " + op + " " + a.scalar(certain(threshold(op, x.dec.scale, a, d)))
	} else {
		sql = certain(x.scaled(d) + " * " + a.divisor.sql + " " + op + " " + a.dividend.scaled(d))
	}
	e := with(oidBool, sql, x, a.dividend, a.divisor)
	e.null, e.share = e.null || a.scalar != nil, inequalityShare
	return e, true
}

// threshold is the value of a scale that x is to be compared with in place of the exact quotient: the next one below it for > and <=,
// above it for < and >=.
func threshold(op string, scale int, a *ratio, d decimal) string {
	dividend := "reinterpret(" + a.dividend.scaled(d) + ", 'Int128')"
	divisor := fmt.Sprintf("toInt128(%s) * toInt128('%v')", a.divisor.sql, pow10(d.scale-scale))
	rest := " - (modulo(%[1]s, %[2]s) < 0)"
	if op == "<" || op == ">=" {
		rest = " + (modulo(%[1]s, %[2]s) > 0)"
	}
	return fmt.Sprintf("reinterpret(toInt128(intDiv(%[1]s, %[2]s)"+rest+"), '%[3]s')", dividend, divisor, decimal{integer: comparisonDigits - scale, scale: scale})
}
