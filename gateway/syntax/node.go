package syntax

import pg "github.com/pganalyze/pg_query_go/v6"

// FunctionName returns the name of a built-in function, or "" if the call names another schema.
func FunctionName(f *pg.FuncCall) string { return builtIn(f.Funcname) }

// OperatorName returns the name of a built-in operator, or "" if it names another schema.
func OperatorName(name []*pg.Node) string { return builtIn(name) }

func builtIn(name []*pg.Node) string {
	parts := Strings(name)
	switch {
	case len(parts) == 1:
		return parts[0]
	case len(parts) == 2 && parts[0] == "pg_catalog":
		return parts[1]
	}
	return ""
}

// Strings are the texts of a list of names.
func Strings(nodes []*pg.Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.GetString_().GetSval()
	}
	return out
}

// IsBound reports whether an expression is one value for the whole statement.
func IsBound(n *pg.Node) bool {
	switch v := n.GetNode().(type) {
	case *pg.Node_AConst, *pg.Node_ParamRef:
		return true
	case *pg.Node_TypeCast:
		return IsBound(v.TypeCast.Arg)
	}
	return false
}

// Conjuncts splits a condition at its ANDs.
func Conjuncts(n *pg.Node) []*pg.Node {
	if n == nil {
		return nil
	}
	if b := n.GetBoolExpr(); b != nil && b.Boolop == pg.BoolExprType_AND_EXPR {
		var out []*pg.Node
		for _, a := range b.Args {
			out = append(out, Conjuncts(a)...)
		}
		return out
	}
	return []*pg.Node{n}
}
