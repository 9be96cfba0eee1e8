//go:build cgo

package sqlnames

import pg "github.com/pganalyze/pg_query_go/v6"

func parse(sql string) (*pg.ParseResult, error) { return pg.Parse(sql) }
