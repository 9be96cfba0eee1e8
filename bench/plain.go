package bench

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/workload/ch"
)

// makePlainTables copies PostgreSQL's tables into tables of the same names in the engine, each with the columns and the sorting
// key of the replica's base, merged to one part.
func makePlainTables(ctx context.Context, r *rig.Rig) error {
	conn, err := pgx.Connect(ctx, r.OLTP())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := r.Query(ctx, "CREATE DATABASE public", nil); err != nil {
		return err
	}
	for _, table := range ch.Tables {
		if err := makePlainTable(ctx, r, conn, table); err != nil {
			return fmt.Errorf("make plain table %s: %w", table, err)
		}
	}
	return nil
}

func makePlainTable(ctx context.Context, r *rig.Rig, conn *pgx.Conn, table string) error {
	var id uint32
	if err := conn.QueryRow(ctx, "SELECT $1::regclass::oid", table).Scan(&id); err != nil {
		return err
	}
	// Its definition is read rather than its name: the base may be replaced at any time.
	create, err := r.Query(ctx, fmt.Sprintf(`SELECT replaceOne(create_table_query, concat(database, '.', name), 'public.%s')
		FROM system.tables WHERE name LIKE 'b\\_%d\\_%%' ORDER BY length(name) DESC, name DESC LIMIT 1 FORMAT TSVRaw`, table, id), nil)
	if err != nil {
		return err
	}
	if _, err := r.Query(ctx, create, nil); err != nil {
		return err
	}
	names, values, err := plainColumns(ctx, conn, id)
	if err != nil {
		return err
	}
	copied, rows := io.Pipe()
	sent := make(chan error, 1)
	go func() {
		_, err := conn.PgConn().CopyTo(ctx, rows, fmt.Sprintf("COPY (SELECT %s FROM %s) TO STDOUT", values, table))
		rows.CloseWithError(err) // nil means EOF
		sent <- err
	}()
	err = r.Insert(ctx, fmt.Sprintf("INSERT INTO public.%s (%s) FORMAT TabSeparated", table, names), copied)
	copied.CloseWithError(err)
	if sendErr := <-sent; err == nil {
		err = sendErr
	}
	if err != nil {
		return err
	}
	_, err = r.Query(ctx, fmt.Sprintf("OPTIMIZE TABLE public.%s FINAL", table), nil)
	return err
}

// plainColumns lists a table's columns, and for each the expression whose text the engine reads as the replica's value.
func plainColumns(ctx context.Context, conn *pgx.Conn, id uint32) (names, values string, err error) {
	rows, err := conn.Query(ctx, `SELECT attname::text, CASE atttypid::regtype::text
			WHEN 'timestamp without time zone' THEN format('(extract(epoch FROM %1$I) * 1000000)::bigint', attname)
			WHEN 'character' THEN format('%I::text', attname)
			ELSE quote_ident(attname) END
		FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum`, id)
	if err != nil {
		return "", "", err
	}
	var name, value string
	var ns, vs []string
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		ns, vs = append(ns, name), append(vs, value)
		return nil
	})
	return strings.Join(ns, ", "), strings.Join(vs, ", "), err
}
