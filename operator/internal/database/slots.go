package database

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Slots returns the numbers of the units of which both slot and publication are there. Their names are prefix and the unit's number.
func (PostgreSQL) Slots(ctx context.Context, c Connection, prefix string) (units []int, err error) {
	conn, err := connect(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	rows, err := conn.Query(ctx, `SELECT slot_name::text FROM pg_replication_slots JOIN pg_publication ON pubname = slot_name
		WHERE starts_with(slot_name::text, $1) AND NOT temporary ORDER BY 1`, prefix)
	if err != nil {
		return nil, fmt.Errorf("list the slots of units: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("list the slots of units: %w", err)
	}
	for _, name := range names {
		if number, err := strconv.Atoi(strings.TrimPrefix(name, prefix)); err == nil {
			units = append(units, number)
		}
	}
	return units, nil
}

// LimitSlots bounds how much of its log the server keeps for a slot (max_slot_wal_keep_size), such as 512MB, from now on: it is not restarted. A limit on
// its command line goes before this one.
func (PostgreSQL) LimitSlots(ctx context.Context, superuser Connection, most string) error {
	conn, err := connect(ctx, superuser)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	quoted, err := conn.PgConn().EscapeString(most)
	if err != nil {
		return fmt.Errorf("limit the database's slots to %q: %w", most, err)
	}
	for _, sql := range []string{"ALTER SYSTEM SET max_slot_wal_keep_size = '" + quoted + "'", "SELECT pg_reload_conf()"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("limit the database's slots: %s: %w", sql, err)
		}
	}
	return nil
}
