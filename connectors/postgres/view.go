package postgres

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
)

//go:embed view.sql
var viewTemplate string

var viewSQL = strings.Replace(viewTemplate, ":version", versionExpression, 1)

// printSettings fix how the server prints a view: with schemas, and with constants that mean the same in every session.
const printSettings = `SELECT set_config('search_path', '', true), set_config('DateStyle', 'ISO', true), set_config('IntervalStyle', 'postgres', true),
	set_config('TimeZone', 'UTC', true), set_config('extra_float_digits', '1', true), set_config('bytea_output', 'hex', true),
	set_config('standard_conforming_strings', 'on', true)`

// View returns the view that a name means in a list of schemas; nil if it means none, or no view.
//
// The text is of now, the versions are of the moment before: if the two differ, later versions will not be those returned.
func (s *Source) View(ctx context.Context, searchPath []string, name string) (*cdc.View, error) {
	var v *cdc.View
	err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
		if _, err := tx.Exec(ctx, printSettings); err != nil {
			return err
		}
		v, err = s.readView(ctx, tx, searchPath, name)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read view %q: %w", name, err)
	}
	return v, nil
}

func (s *Source) readView(ctx context.Context, tx pgx.Tx, searchPath []string, name string) (*cdc.View, error) {
	v := &cdc.View{}
	var id uint32
	var columns []byte
	var reads []uint32
	err := tx.QueryRow(ctx, viewSQL, searchPath, name).
		Scan(&id, &v.Schema, &v.Name, &v.Owner, &v.Barrier, &v.Query, &v.Version, &columns, &reads)
	if err != nil {
		return nil, err
	}
	v.ID = cdc.TableID(id)
	if err := json.Unmarshal(columns, &v.Columns); err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	v.Reads, _, err = s.readVersions(ctx, tx, reads)
	return v, err
}
