package postgres

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
)

//go:embed zone.sql
var zoneSQL string

// Zone returns the offsets of a time zone as the server knows them, from [cdc.FirstOffset] on; the last one holds to [cdc.LastOffset]. The name
// means what it does for SET TIME ZONE: to AT TIME ZONE it may be an abbreviation, whose offset is always the same.
func (s *Source) Zone(ctx context.Context, name string) (offsets []cdc.Offset, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_catalog.set_config('TimeZone', $1, true)", name); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, zoneSQL, cdc.FirstOffset, cdc.LastOffset)
		if err != nil {
			return err
		}
		offsets, err = pgx.CollectRows(rows, pgx.RowToStructByPos[cdc.Offset])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read offsets of time zone %q: %w", name, err)
	}
	return offsets, nil
}
