package sqlnames

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Unqualified returns what a statement names without a schema: functions, operators, types, collations and relations. The statement's own WITH
// queries go before all that the search path has.
func Unqualified(sql string) ([]string, error) {
	tree, err := parse(sql)
	if err != nil {
		return nil, fmt.Errorf("parse %q: %w", sql, err)
	}
	var found []string
	own := map[string]bool{}
	visit(tree.ProtoReflect(), func(m protoreflect.ProtoMessage) {
		if cte, ok := m.(*pg.CommonTableExpr); ok {
			own["relation "+cte.Ctename] = true
		}
	})
	note := func(what string, name []*pg.Node) {
		if len(name) > 1 || own[what] {
			return
		}
		for _, n := range name {
			what += " " + n.GetString_().GetSval()
		}
		found = append(found, what)
	}
	visit(tree.ProtoReflect(), func(m protoreflect.ProtoMessage) { inspect(m, note) })
	return found, nil
}

// visit calls f with a message and all that it holds.
func visit(m protoreflect.Message, f func(protoreflect.ProtoMessage)) {
	f(m.Interface())
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				visit(value.List().Get(i).Message(), f)
			}
		default:
			visit(value.Message(), f)
		}
		return true
	})
}

func inspect(m protoreflect.ProtoMessage, note func(what string, name []*pg.Node)) {
	switch v := m.(type) {
	case *pg.FuncCall:
		note("function", v.Funcname)
	case *pg.TypeName:
		note("type", v.Names)
	case *pg.CollateClause:
		note("collation", v.Collname)
	case *pg.RangeVar:
		if v.Schemaname == "" {
			note("relation "+v.Relname, nil)
		}
	case *pg.A_Expr:
		switch v.Kind {
		case pg.A_Expr_Kind_AEXPR_OP, pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
			note("operator", v.Name)
		default:
			note(strings.TrimPrefix(v.Kind.String(), "AEXPR_"), nil)
		}
	case *pg.SubLink:
		if v.Testexpr != nil {
			note("subquery's operator", v.OperName)
		}
	case *pg.CaseExpr:
		if v.Arg != nil {
			note("CASE with an operand", nil)
		}
	case *pg.JoinExpr:
		if v.IsNatural || len(v.UsingClause) > 0 {
			note("JOIN by names", nil)
		}
	case *pg.SortBy:
		if len(v.UseOp) > 0 {
			note("ORDER BY USING", v.UseOp)
		}
	}
}
