package database

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Clean drops the slots and publications that units of number keep and higher have left, and returns those that it had to leave because they
// are in use. Their names are prefix and the unit's number.
func (PostgreSQL) Clean(ctx context.Context, c Connection, prefix string, keep int) (inUse []string, err error) {
	conn, err := connect(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	names, active, err := left(ctx, conn, prefix)
	if err != nil {
		return nil, fmt.Errorf("list what units have left in the database: %w", err)
	}
	for _, name := range names {
		number, err := strconv.Atoi(strings.TrimPrefix(name, prefix))
		if err != nil || number < keep {
			continue
		}
		if slices.Contains(active, name) {
			inUse = append(inUse, name)
			continue
		}
		if err := drop(ctx, conn, name); err != nil {
			return nil, err
		}
	}
	return inUse, nil
}

// left returns the names of slots and publications with the prefix, and which slots are in use.
func left(ctx context.Context, conn *pgx.Conn, prefix string) (names, active []string, err error) {
	rows, err := conn.Query(ctx, `SELECT slot_name::text, active FROM pg_replication_slots WHERE starts_with(slot_name::text, $1) AND NOT temporary
		UNION ALL SELECT pubname::text, false FROM pg_publication WHERE starts_with(pubname::text, $1)`, prefix)
	if err != nil {
		return nil, nil, err
	}
	var name string
	var used bool
	_, err = pgx.ForEachRow(rows, []any{&name, &used}, func() error {
		names = append(names, name)
		if used {
			active = append(active, name)
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names), active, err
}

func drop(ctx context.Context, conn *pgx.Conn, name string) error {
	_, err := conn.Exec(ctx, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1", name)
	if err != nil {
		return fmt.Errorf("drop replication slot %q: %w", name, err)
	}
	if _, err := conn.Exec(ctx, "DROP PUBLICATION IF EXISTS "+pgx.Identifier{name}.Sanitize()); err != nil {
		return fmt.Errorf("drop publication %q: %w", name, err)
	}
	return nil
}
