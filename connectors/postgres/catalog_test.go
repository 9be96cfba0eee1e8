package postgres

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/stand"
)

// A copy asks for one table after the other: ten thousand questions that read the whole catalog each would take longer than the copy.
func TestDiscovery_ofATableReadsNoMoreOfTheCatalog(t *testing.T) {
	t.Parallel()
	conn := stand.Connect(t, stand.Postgres(t).URL("postgres"))
	stand.Exec(t, conn, `CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN temper AS mood; CREATE DOMAIN price AS numeric(10,2); CREATE DOMAIN fee AS price;
		DO $$ BEGIN FOR i IN 1..400 LOOP EXECUTE format('CREATE TABLE t%s (id int PRIMARY KEY, m temper, f fee, n text COLLATE "C")', i); END LOOP; END $$;
		CREATE TABLE whole (id int PRIMARY KEY, f fee) PARTITION BY RANGE (id);
		CREATE TABLE part PARTITION OF whole FOR VALUES FROM (0) TO (10);
		CREATE TABLE parted PARTITION OF whole FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (id);
		CREATE TABLE lower PARTITION OF parted FOR VALUES FROM (12) TO (20);
		ANALYZE pg_class, pg_type`)
	discovered := func(sql string, only ...uint32) map[string][]any {
		t.Helper()
		rows, err := conn.Query(t.Context(), sql, append([]uint32{}, only...), "freshet")
		if err != nil {
			t.Fatal(err)
		}
		tables := map[string][]any{}
		if _, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
			values, err := row.Values()
			if err == nil {
				tables[fmt.Sprint(values[2])] = slices.Delete(values, 10, 11) // the log's position
			}
			return struct{}{}, err
		}); err != nil {
			t.Fatal(err)
		}
		return tables
	}
	all := discovered(discoverSQL)
	if len(all) != 401 {
		t.Fatalf("discovered: %v", slices.Sorted(maps.Keys(all)))
	}
	for _, name := range []string{"t1", "t400", "whole"} {
		if diff := cmp.Diff(map[string][]any{name: all[name]}, discovered(discoverSomeSQL, all[name][0].(uint32))); diff != "" {
			t.Errorf("%s among all and by itself: %s", name, diff)
		}
	}
	read := func() (rows int) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), "SELECT seq_tup_read FROM pg_stat_xact_sys_tables WHERE relname = 'pg_class'").Scan(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	stand.Exec(t, conn, "BEGIN")
	before := read()
	discovered(discoverSomeSQL, all["t7"][0].(uint32))
	if n := read() - before; n > 100 {
		t.Errorf("%d rows of pg_class were read for one table", n)
	}
}
