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

// Zone returns the offsets of a time zone as the server knows them, from [cdc.FirstOffset] on; the last one holds to [cdc.LastOffset].
func (s *Source) Zone(ctx context.Context, name string) ([]cdc.Offset, error) {
	rows, err := s.pool.Query(ctx, zoneSQL, name, cdc.FirstOffset, cdc.LastOffset)
	if err == nil {
		var offsets []cdc.Offset
		if offsets, err = pgx.CollectRows(rows, pgx.RowToStructByPos[cdc.Offset]); err == nil {
			return offsets, nil
		}
	}
	return nil, fmt.Errorf("read offsets of time zone %q: %w", name, err)
}
