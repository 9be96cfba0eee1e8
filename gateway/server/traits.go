package server

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/dial"
	"github.com/freshet-io/freshet/gateway/translate"
)

// traitsSQL asks for [translate.Traits]. The database's row is read as JSON because its columns differ between PostgreSQL 14 and 18. The
// percentile is 1 + 0.1·(8-1), which is 1.7 if the product is not rounded before it is added. The cases of all letters tell nothing where they depend on
// what is beside them, as in Lithuanian and, by ICU, in Greek. Elsewhere letters are looked at one by one only in those runs of 128, divided by
// spaces, that have another length or ASCII in the other case: all 129,000, one by one, take PostgreSQL several times as long.
const traitsSQL = `WITH run AS MATERIALIZED (SELECT (SELECT string_agg(chr(i), ' ') FROM generate_series(first, first + 127) AS i) AS letters
  FROM generate_series(128, 131071, 128) AS first WHERE first NOT BETWEEN 55296 AND 57343)
SELECT CASE d->>'datlocprovider'
  WHEN 'b' THEN coalesce(d->>'datlocale', '') IN ('C', 'C.UTF-8', 'PG_UNICODE_FAST')
  WHEN 'i' THEN false
  ELSE d->>'datcollate' IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8') END,
  lower('I') = 'i' AND upper('i') = 'I' AND initcap('ij') = 'Ij',
  (SELECT percentile_cont(0.1) WITHIN GROUP (ORDER BY x) = '1.7000000000000002'::float8 FROM (VALUES (1), (8)) AS v(x)),
  CASE WHEN apart THEN (SELECT coalesce(string_agg(c, '' ORDER BY ascii(c)), '') FROM run, lower(letters) AS other, string_to_table(letters, ' ') AS c
    WHERE other <> letters AND (char_length(other) <> char_length(letters) OR other COLLATE "C" ~ '[!-~]') AND (octet_length(lower(c)) < 2 OR char_length(lower(c)) <> 1)) ELSE '' END,
  CASE WHEN apart THEN (SELECT coalesce(string_agg(c, '' ORDER BY ascii(c)), '') FROM run, upper(letters) AS other, string_to_table(letters, ' ') AS c
    WHERE other <> letters AND (char_length(other) <> char_length(letters) OR other COLLATE "C" ~ '[!-~]') AND (octet_length(upper(c)) < 2 OR char_length(upper(c)) <> 1)) ELSE '' END
FROM (SELECT to_jsonb(r), CASE WHEN getdatabaseencoding() = 'UTF8' THEN char_length(lower('I' || chr(768))) = 2 AND char_length(upper(chr(945) || chr(769))) = 2 ELSE false END
  FROM pg_catalog.pg_database r WHERE r.datname = current_database()) AS x(d, apart)`

func readTraits(ctx context.Context, cfg Config) (translate.Traits, error) {
	if cfg.CockroachDB != nil { // whose strings are ordered so unless a column has a collation
		return translate.Traits{BytewiseCollation: true, ASCIICase: true}, nil
	}
	var traits translate.Traits
	access, err := pgx.ParseConfig(cfg.PostgresURL)
	if err != nil {
		return traits, fmt.Errorf("configure gateway: PostgresURL: %w", err)
	}
	dial.Guard(&access.Config)
	access.RuntimeParams["search_path"] = "pg_catalog"
	conn, err := pgx.ConnectConfig(ctx, access)
	if err != nil {
		return traits, fmt.Errorf("connect to read the database's traits: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := conn.QueryRow(ctx, traitsSQL).Scan(&traits.BytewiseCollation, &traits.ASCIICase, &traits.UnfusedFloats, &traits.LowerStrays, &traits.UpperStrays); err != nil {
		return traits, fmt.Errorf("read the database's traits: %w", err)
	}
	return traits, nil
}
