package translate

import (
	"maps"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Names are the functions and operators that a statement names without a schema. PostgreSQL looks them up in the search path, by the types of their
// operands: what a user has defined for just these types goes before what is built in for others.
type Names struct {
	// Functions and Operators are sorted, each name once.
	Functions, Operators []string
	// Casts says that there is a cast of what is not a literal.
	Casts bool
	// Called are the functions that are called, those included that are named with a schema; sorted, each name once.
	Called []string
}

// Names finds them, those included that are not written, as the equality of IN.
func (t *Tree) Names() Names {
	functions, operators, called := map[string]bool{}, map[string]bool{}, map[string]bool{}
	casts := false
	for _, s := range t.statements {
		walk(s.Stmt, func(n *pg.Node) bool {
			switch v := n.Node.(type) {
			case *pg.Node_FuncCall:
				names := stringsOf(v.FuncCall.Funcname)
				if len(names) == 1 {
					functions[names[0]] = true
				}
				called[names[len(names)-1]] = true
			case *pg.Node_AExpr:
				for _, name := range operatorsOf(v.AExpr) {
					operators[name] = true
					casts = casts || name == "||" // which casts what is no text
				}
			case *pg.Node_CaseExpr:
				operators["="] = operators["="] || v.CaseExpr.Arg != nil
			case *pg.Node_JoinExpr:
				operators["="] = operators["="] || v.JoinExpr.IsNatural || len(v.JoinExpr.UsingClause) > 0
			case *pg.Node_SubLink:
				if names := stringsOf(v.SubLink.OperName); len(names) == 1 {
					operators[names[0]] = true
				} else if v.SubLink.Testexpr != nil && len(names) == 0 {
					operators["="] = true
				}
			case *pg.Node_TypeCast:
				casts = casts || v.TypeCast.Arg.GetAConst().GetSval() == nil
			}
			return true
		})
	}
	maps.DeleteFunc(operators, func(_ string, used bool) bool { return !used })
	return Names{
		Functions: slices.Sorted(maps.Keys(functions)), Operators: slices.Sorted(maps.Keys(operators)), Casts: casts,
		Called: slices.Sorted(maps.Keys(called)),
	}
}

// operatorsOf are the operators that an expression looks up. The grammar writes a word in place of those of BETWEEN.
func operatorsOf(a *pg.A_Expr) []string {
	names := stringsOf(a.Name)
	if len(names) != 1 {
		return nil
	}
	switch a.Kind {
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_BETWEEN_SYM:
		return []string{">=", "<="}
	case pg.A_Expr_Kind_AEXPR_NOT_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		return []string{"<", ">"}
	}
	return names
}
