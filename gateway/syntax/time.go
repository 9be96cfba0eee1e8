package syntax

import pg "github.com/pganalyze/pg_query_go/v6"

// AsksTime reports whether what a statement answers depends on the time of its transaction.
func (t *Tree) AsksTime() bool {
	asks := false
	t.Walk(func(n *pg.Node) bool {
		asks = asks || n.GetSqlvalueFunction() != nil || n.GetFuncCall() != nil && asksTime(n.GetFuncCall())
		return !asks
	})
	return asks
}

// asksTime says whether a function's value depends on the time of the transaction.
func asksTime(f *pg.FuncCall) bool {
	name := FunctionName(f)
	return IsNow(name) || name == "age" && len(f.Args) == 1
}

// IsNow says whether a function returns the time of the transaction. That of the statement depends on how it reached the server.
func IsNow(function string) bool { return function == "now" || function == "transaction_timestamp" }
