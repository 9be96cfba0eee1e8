//go:build !cgo

package syntax

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	wasm "github.com/wasilibs/go-pgquery"
)

// mostLevels is how many words and operators a text may have that is parsed, mostBrackets how many brackets may be open at once. WebAssembly's stack
// overflows from 2,800 levels on, from 1,000 where each is a subquery, and the parser is of no use from then on.
const mostLevels, mostBrackets = 2_500, 500

func parse(sql string) (*pg.ParseResult, error) { return wasm.Parse(sql) }
