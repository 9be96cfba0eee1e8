package database

import (
	"context"
	"fmt"
)

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
