//go:build cgo

package syntax

import pg "github.com/pganalyze/pg_query_go/v6"

// mostLevels is how many words and operators a text may have that is parsed, mostBrackets how many brackets may be open at once. The parser recurses as
// deep as a statement nests, on the 8 MiB of stack that a thread has: between 20,000 and 30,000 levels it would end the process.
const mostLevels, mostBrackets = 15_000, 5_000

func parse(sql string) (*pg.ParseResult, error) { return pg.Parse(sql) }
