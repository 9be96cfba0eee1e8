package server

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/dial"
)

// bytewiseDefault says whether the database's default collation orders strings by
// their bytes. The row is read as JSON because its columns differ between PostgreSQL 14 and 18.
const bytewiseDefault = `SELECT CASE d->>'datlocprovider'
  WHEN 'b' THEN coalesce(d->>'datlocale', '') IN ('C', 'C.UTF-8', 'PG_UNICODE_FAST')
  WHEN 'i' THEN false
  ELSE d->>'datcollate' IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8') END
FROM (SELECT to_jsonb(r) FROM pg_catalog.pg_database r WHERE r.datname = current_database()) AS x(d)`

func readBytewiseDefault(ctx context.Context, cfg Config) (bool, error) {
	if cfg.CockroachDB != nil { // whose strings are ordered so unless a column has a collation
		return true, nil
	}
	access, err := pgx.ParseConfig(cfg.PostgresURL)
	if err != nil {
		return false, fmt.Errorf("configure gateway: PostgresURL: %w", err)
	}
	dial.Guard(&access.Config)
	conn, err := pgx.ConnectConfig(ctx, access)
	if err != nil {
		return false, fmt.Errorf("connect to read the default collation: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var bytewise bool
	if err := conn.QueryRow(ctx, bytewiseDefault).Scan(&bytewise); err != nil {
		return false, fmt.Errorf("read the default collation: %w", err)
	}
	return bytewise, nil
}
