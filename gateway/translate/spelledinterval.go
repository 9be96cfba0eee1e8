package translate

import (
	"math"
	"regexp"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// unitForm is a single unit behind a number.
var unitForm = regexp.MustCompile(`^ *[A-Za-z]+ *$`)

// spelledInterval is (n || ' days')::interval, of a whole number: so many times the unit, as interval_in reads it.
func (q *query) spelledInterval(c *pg.TypeCast) (expr, bool) {
	a := c.Arg.GetAExpr()
	if a == nil || a.Kind != pg.A_Expr_Kind_AEXPR_OP || syntax.OperatorName(a.Name) != "||" {
		return expr{}, false
	}
	if a.Rexpr.GetAConst() == nil && a.Rexpr.GetTypeCast().GetArg().GetAConst() == nil { // as a view has it
		return expr{}, false
	}
	if to := typeOf(c.TypeName); to.oid != oidInterval || to.unit != "" {
		return expr{}, false
	}
	text, ok := q.value(a.Rexpr).constantText()
	if !ok || !unitForm.MatchString(text) {
		return expr{}, false
	}
	unit, ok := parseInterval("1"+text, "")
	if !ok {
		return expr{}, false
	}
	number := a.Lexpr
	if cast := number.GetTypeCast(); cast != nil && len(cast.TypeName.ArrayBounds) == 0 && q.t.enumNamed(cast.TypeName) == nil {
		if to := typeOf(cast.TypeName); isText(to.oid) && len(to.mods) == 0 {
			number = cast.Arg
		}
	}
	n := q.value(number)
	if count, ok := n.constantFrom(math.MinInt64); ok && isInteger(n.oid) {
		i, ok := parseInterval(itoa(int(count))+text, "")
		return intervalLiteral(i), ok
	}
	if n.lit != nil || n.opaque || !isInteger(n.oid) && (n.oid != oidNumeric || n.dec.scale != 0 || n.dec.display != 0) {
		return expr{}, false
	}
	e := intervalOf(q.product(unit, n), n)
	e.fails = true // where the number is too large
	return e, true
}
