package translate

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// outputName is the name that PostgreSQL gives an output column without AS.
func outputName(n *pg.Node) string {
	name, _ := figureName(n)
	if name == "" {
		return "?column?"
	}
	return name
}

// targetName is what an output column is called.
func targetName(target *pg.ResTarget) string {
	if target.Name != "" {
		return target.Name
	}
	return outputName(target.Val)
}

// figureName follows PostgreSQL's FigureColnameInternal. A weak name yields to that of a type cast around it.
func figureName(n *pg.Node) (name string, strong bool) {
	switch v := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		for _, f := range v.ColumnRef.Fields {
			if s := f.GetString_(); s != nil {
				name = s.Sval
			}
		}
		return name, true
	case *pg.Node_AIndirection:
		return figureName(v.AIndirection.Arg)
	case *pg.Node_FuncCall:
		names := syntax.Strings(v.FuncCall.Funcname)
		return names[len(names)-1], true
	case *pg.Node_AExpr:
		if v.AExpr.Kind == pg.A_Expr_Kind_AEXPR_NULLIF {
			return "nullif", true
		}
	case *pg.Node_TypeCast:
		if name, strong = figureName(v.TypeCast.Arg); strong {
			return name, true
		}
		names := syntax.Strings(v.TypeCast.TypeName.GetNames())
		if len(names) > 0 {
			return names[len(names)-1], false
		}
	case *pg.Node_CollateClause:
		return figureName(v.CollateClause.Arg)
	case *pg.Node_GroupingFunc:
		return "grouping", true
	case *pg.Node_SubLink:
		return subLinkName(v.SubLink)
	case *pg.Node_CaseExpr:
		if name, strong = figureName(v.CaseExpr.Defresult); strong {
			return name, true
		}
		return "case", false
	case *pg.Node_AArrayExpr:
		return "array", true
	case *pg.Node_RowExpr:
		return "row", true
	case *pg.Node_CoalesceExpr:
		return "coalesce", true
	case *pg.Node_MinMaxExpr:
		if v.MinMaxExpr.Op == pg.MinMaxOp_IS_LEAST {
			return "least", true
		}
		return "greatest", true
	}
	return "", false
}

func subLinkName(s *pg.SubLink) (string, bool) {
	switch s.SubLinkType {
	case pg.SubLinkType_EXISTS_SUBLINK:
		return "exists", true
	case pg.SubLinkType_ARRAY_SUBLINK:
		return "array", true
	case pg.SubLinkType_EXPR_SUBLINK:
		targets := s.Subselect.GetSelectStmt().GetTargetList()
		if len(targets) == 0 {
			return "", false
		}
		t := targets[0].GetResTarget()
		if t.GetName() != "" {
			return t.Name, true
		}
		return figureName(t.GetVal())
	}
	return "", false
}
