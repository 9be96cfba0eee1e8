package trial

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// contents is what a table holds, in the order of its key.
type contents struct {
	rows int
	hash uint64
}

var hashSeed = maphash.MakeSeed()

// read hashes the text of all values that a query returns, in sequence.
func read(ctx context.Context, conn *pgconn.PgConn, sql string) (contents, error) {
	var c contents
	var h maphash.Hash
	h.SetSeed(hashSeed)
	result := conn.ExecParams(ctx, sql, nil, nil, nil, nil)
	var length []byte
	for result.NextRow() {
		c.rows++
		for _, v := range result.Values() {
			n := len(v)
			if v == nil {
				n = -1
			}
			length = binary.AppendVarint(length[:0], int64(n))
			h.Write(length)
			h.Write(v)
		}
	}
	if _, err := result.Close(); err != nil {
		return c, fmt.Errorf("%s: %w", sql, err)
	}
	c.hash = h.Sum64()
	return c, nil
}

const tablesAndKeys = `
SELECT format('%I', c.relname), (SELECT string_agg(format('%I', a.attname), ', ' ORDER BY array_position(i.indkey::int2[], a.attnum))
 FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum = ANY (i.indkey::int2[]))
FROM pg_class c JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' ORDER BY 1`

// RequireEqualTables compares every table of the replica with PostgreSQL's, row for row. Nobody may write meanwhile.
func (p *Platform) RequireEqualTables(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	direct, columnar := connect(t, p.DirectURL), connect(t, p.URL, "SET freshet.freshness = 'strong'", "SET freshet.route = 'columnar'")
	rows, err := direct.Query(ctx, tablesAndKeys)
	if err != nil {
		t.Fatal(err)
	}
	type table struct{ Name, Key string }
	tables, err := pgx.CollectRows(rows, pgx.RowToStructByPos[table])
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, table := range tables {
		sql := fmt.Sprintf("SELECT * FROM %s ORDER BY %s", table.Name, table.Key)
		want, err := read(ctx, direct.PgConn(), sql)
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(ctx, columnar.PgConn(), sql)
		if err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("table %s: the replica holds %d rows that differ from PostgreSQL's %d", table.Name, got.rows, want.rows)
		}
		total += want.rows
	}
	if len(tables) < 3 || total == 0 {
		t.Fatalf("compared %d tables with %d rows: there is nothing to compare", len(tables), total)
	}
	t.Logf("%d tables with %d rows equal PostgreSQL's", len(tables), total)
}
