//go:build cgo

package translate

import pg "github.com/pganalyze/pg_query_go/v6"

func parse(sql string) (*pg.ParseResult, error) { return pg.Parse(sql) }
