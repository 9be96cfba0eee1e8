package translate

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// constructName says in words what an expression is that is not translated.
func constructName(n *pg.Node) string {
	switch n.Node.(type) {
	case *pg.Node_AArrayExpr:
		return "ARRAY[…] in this place"
	case *pg.Node_AIndirection:
		return "element of an array, or field of a composite value"
	case *pg.Node_RowExpr:
		return "row as a value"
	case *pg.Node_XmlExpr, *pg.Node_XmlSerialize:
		return "XML expression"
	case *pg.Node_SetToDefault:
		return "DEFAULT"
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", n.Node), "*pg_query.Node_")
	if strings.HasPrefix(kind, "Json") {
		return "JSON expression"
	}
	return "expression of kind " + kind
}
