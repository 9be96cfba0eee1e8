package translate

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// Variant names what may make PostgreSQL plan a statement in another way than others of the same text but for its constants: their values and
// those of its parameters. Left out are those that IN or an equality compares something with, unless the statement computes one row of many:
// its result does not tell how many it reads.
func Variant(t *syntax.Tree, params []Param) string {
	var b strings.Builder
	equated := map[*pg.Node]bool{}
	if !combines(t) {
		equated = equatedIn(t)
	}
	t.Walk(func(n *pg.Node) bool {
		if equated[n] {
			return false
		}
		switch v := n.Node.(type) {
		case *pg.Node_AConst:
			writeConstant(&b, v.AConst)
		case *pg.Node_ParamRef:
			if i := int(v.ParamRef.Number) - 1; i >= 0 && i < len(params) {
				fmt.Fprintf(&b, "$%d%t%d%q", i, params[i].Null, params[i].Format, params[i].Value)
			}
		}
		return true
	})
	return b.String()
}

// combines reports whether a statement may compute one row of many.
func combines(t *syntax.Tree) bool {
	found := false
	t.Walk(func(n *pg.Node) bool {
		switch v := n.Node.(type) {
		case *pg.Node_FuncCall:
			found = true
		case *pg.Node_SelectStmt:
			found = found || len(v.SelectStmt.GroupClause) > 0 || len(v.SelectStmt.DistinctClause) > 0
		}
		return !found
	})
	return found
}

// equatedIn finds the constants and parameters that something is compared with for equality.
func equatedIn(t *syntax.Tree) map[*pg.Node]bool {
	found := map[*pg.Node]bool{}
	note := func(n *pg.Node) {
		if syntax.IsBound(n) {
			found[n] = true
		}
	}
	t.Walk(func(n *pg.Node) bool {
		e := n.GetAExpr()
		if e == nil || syntax.OperatorName(e.Name) != "=" {
			return true
		}
		switch e.Kind {
		case pg.A_Expr_Kind_AEXPR_OP:
			note(e.Lexpr)
			note(e.Rexpr)
		case pg.A_Expr_Kind_AEXPR_IN:
			for _, item := range e.Rexpr.GetList().GetItems() {
				note(item)
			}
		}
		return true
	})
	return found
}

func writeConstant(b *strings.Builder, c *pg.A_Const) {
	switch v := c.Val.(type) {
	case *pg.A_Const_Ival:
		fmt.Fprintf(b, "i%d", v.Ival.Ival)
	case *pg.A_Const_Fval:
		fmt.Fprintf(b, "f%q", v.Fval.Fval)
	case *pg.A_Const_Boolval:
		fmt.Fprintf(b, "b%t", v.Boolval.Boolval)
	case *pg.A_Const_Sval:
		fmt.Fprintf(b, "s%q", v.Sval.Sval)
	case *pg.A_Const_Bsval:
		fmt.Fprintf(b, "x%q", v.Bsval.Bsval)
	default:
		b.WriteByte('n')
	}
}
