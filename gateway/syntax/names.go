package syntax

import (
	"maps"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Names are the functions and operators that a statement and the views that it reads call, written or not, as the equality of IN is not. Each list
// is sorted, with each name once.
type Names struct {
	// Functions and Operators are named without a schema. PostgreSQL looks them up in the search path, by the types of their operands: what a user has
	// defined for just these types goes before what is built in for others.
	Functions, Operators []string
	// Casts says that there is a cast of what is not a literal.
	Casts bool
	// Called and Applied are all functions and operators, those included that are named with a schema. The user must be allowed to execute them, also
	// those of a view.
	Called, Applied []string
	// Bound are operators of a view whose schema its printed query does not tell: they were looked up in the search path of whoever made it.
	Bound []string
}

// With adds the names of a view.
func (n Names) With(o Names) Names {
	join := func(a, b []string) []string { return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b)))) }
	return Names{
		Functions: join(n.Functions, o.Functions), Operators: join(n.Operators, o.Operators), Casts: n.Casts || o.Casts,
		Called: join(n.Called, o.Called), Applied: join(n.Applied, o.Applied), Bound: join(n.Bound, o.Bound),
	}
}

// Names finds those of the statements.
func (t *Tree) Names() Names {
	n := t.names()
	return Names{
		Functions: n.functions.sorted(), Operators: n.operators.sorted(), Casts: n.casts,
		Called: n.called.sorted(), Applied: n.applied.sorted(),
	}
}

// PrintedNames finds those of a view's query, which is printed for an empty search path: what it names without a schema is built in.
func (t *Tree) PrintedNames() Names {
	n := t.names()
	return Names{Casts: n.casts, Called: n.called.sorted(), Applied: n.applied.sorted(), Bound: n.unwritten.sorted()}
}

type nameSet map[string]bool

func (s nameSet) add(names ...string) {
	for _, name := range names {
		s[name] = true
	}
}

func namesIn(words string) nameSet {
	s := nameSet{}
	s.add(strings.Fields(words)...)
	return s
}

func (s nameSet) sorted() []string { return slices.Sorted(maps.Keys(s)) }

// used are what the fields of [Names] are made of. Those unwritten are operators that a printed query does not show, or only the first of several.
type used struct {
	functions, called, operators, applied, unwritten nameSet
	casts                                            bool
}

func (t *Tree) names() used {
	n := used{nameSet{}, nameSet{}, nameSet{}, nameSet{}, nameSet{}, false}
	t.Walk(n.visit)
	return n
}

func (n *used) visit(node *pg.Node) bool {
	switch v := node.Node.(type) {
	case *pg.Node_FuncCall:
		path := Strings(v.FuncCall.Funcname)
		if len(path) == 1 {
			n.functions.add(path[0])
		}
		n.called.add(path[len(path)-1])
	case *pg.Node_AExpr:
		n.apply(Strings(v.AExpr.Name), v.AExpr.Kind)
	case *pg.Node_CaseExpr:
		if v.CaseExpr.Arg != nil {
			n.equate()
		}
	case *pg.Node_JoinExpr:
		if v.JoinExpr.IsNatural || len(v.JoinExpr.UsingClause) > 0 {
			n.equate()
		}
	case *pg.Node_SubLink:
		if v.SubLink.Testexpr == nil {
			break
		}
		path := Strings(v.SubLink.OperName)
		if len(path) == 0 { // IN
			path = []string{"="}
		}
		n.apply(path, pg.A_Expr_Kind_AEXPR_OP)
		if v.SubLink.Testexpr.GetRowExpr() != nil { // the first operator is shown, each column has its own
			n.unwritten.add(path[len(path)-1])
		}
	case *pg.Node_TypeCast:
		n.casts = n.casts || v.TypeCast.Arg.GetAConst().GetSval() == nil
	}
	return true
}

// equate notes an equality that is not written.
func (n *used) equate() {
	n.operators.add("=")
	n.applied.add("=")
	n.unwritten.add("=")
}

// apply notes the operator of an expression, which may be named with a schema.
func (n *used) apply(path []string, kind pg.A_Expr_Kind) {
	found := operatorsOf(path[len(path)-1], kind)
	n.applied.add(found...)
	if len(path) == 1 {
		n.operators.add(found...)
		n.casts = n.casts || path[0] == "||" // which casts what is no text
	}
	switch kind {
	case pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT, pg.A_Expr_Kind_AEXPR_NULLIF:
		n.unwritten.add(found...)
	}
}

// operatorsOf are the operators that an expression looks up. The grammar writes a word in place of those of BETWEEN.
func operatorsOf(name string, kind pg.A_Expr_Kind) []string {
	switch kind {
	case pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_BETWEEN_SYM:
		return []string{">=", "<="}
	case pg.A_Expr_Kind_AEXPR_NOT_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		return []string{"<", ">"}
	}
	return []string{name}
}
