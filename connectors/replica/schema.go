package replica

import (
	"context"
	"fmt"
	"strings"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/column"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// mergeSettings are the settings of a base by which the engine merges on its own or, as noMerges has them, does not.
const (
	mergeSettings = "max_bytes_to_merge_at_max_space_in_pool, max_bytes_to_merge_at_min_space_in_pool"
	noMerges      = "max_bytes_to_merge_at_max_space_in_pool = 1, max_bytes_to_merge_at_min_space_in_pool = 1"
)

// baseSettings keeps the engine from merging on its own: compaction decides
// what is rewritten, beside the published bases. What a record names has to be
// on disk before the record is. Rows are masked in all parts at once: where the engine keeps some of its background tasks for
// merges, the third part and those after it wait up to a second for nothing.
const baseSettings = noMerges + ", " +
	"fsync_after_insert = 1, fsync_part_directory = 1, min_compressed_bytes_to_fsync_after_merge = 1, " +
	"number_of_free_entries_in_pool_to_execute_mutation = 0, " +
	"allow_nullable_key = 1, ratio_of_defaults_for_sparse_serialization = 1"

func columnDefinitions(t *cdc.Table) (string, error) {
	var sql strings.Builder
	for _, c := range t.Columns {
		kind, ok := column.Type(c)
		if !ok {
			return "", fmt.Errorf("column %q has type OID %d, which the columnar store cannot hold", c.Name, c.Type)
		}
		fmt.Fprintf(&sql, "%s %s, ", engine.Quote(c.Name), kind)
	}
	return sql.String(), nil
}

func createBase(name string, t *cdc.Table) (string, error) {
	columns, err := columnDefinitions(t)
	if err != nil {
		return "", err
	}
	key := make([]string, len(t.Key))
	for i, k := range t.Key {
		key[i] = engine.Quote(t.Columns[k].Name)
	}
	return fmt.Sprintf("CREATE TABLE %s (%s%s UInt32 CODEC(NONE)) ENGINE = MergeTree ORDER BY (%s) SETTINGS %s",
		name, columns, column.RowID, strings.Join(key, ", "), baseSettings), nil
}

// diskEngine keeps a delta's rows on disk, in the order in which they come. Nothing is synced: what is void after a restart of the
// engine need not outlive a crash. The engine merges its parts, few at a time: that takes up to 10 MiB for each, where rows are long.
const diskEngine = "MergeTree ORDER BY tuple() SETTINGS max_parts_to_merge_at_once = 10, ratio_of_defaults_for_sparse_serialization = 1"

func createDelta(name string, t *cdc.Table, onDisk bool) (string, error) {
	columns, err := columnDefinitions(t)
	if err != nil {
		return "", err
	}
	kind := "Memory"
	if onDisk {
		kind = diskEngine
	}
	return fmt.Sprintf("CREATE TABLE %s (%s%s UInt32, %s UInt32, %s UInt32) ENGINE = %s",
		name, columns, column.RowID, column.Epoch, column.Since, kind), nil
}

// columnList lists a table's columns and the row id.
func columnList(t *cdc.Table) string {
	var sql strings.Builder
	for _, c := range t.Columns {
		sql.WriteString(engine.Quote(c.Name) + ", ")
	}
	sql.WriteString(column.RowID)
	return sql.String()
}

// quoteAll lists names of columns.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = engine.Quote(n)
	}
	return strings.Join(quoted, ", ")
}

func columnNames(t *cdc.Table) []string {
	names := make([]string, 0, len(t.Columns)+1)
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	return append(names, column.RowID)
}

// dropTable drops a table of rows. It does not wait for the engine to remove
// the data (SYNC): a query that hangs on to the table would hold it up.
func dropTable(ctx context.Context, c *engine.Conn, name string) error {
	return c.Exec(ctx, "DROP TABLE IF EXISTS "+name)
}

func dropDictionary(ctx context.Context, c *engine.Conn, name string) error {
	return c.Exec(ctx, "DROP DICTIONARY IF EXISTS "+name)
}

// drop drops what nobody holds.
func drop(ctx context.Context, c *engine.Conn, l *ledger, o *object) error {
	if o.mask {
		return dropDictionary(ctx, c, l.qualified(o))
	}
	return dropTable(ctx, c, l.qualified(o))
}

// sameDefinition reports whether rows of one definition are rows of the other.
func sameDefinition(a, b *cdc.Table) bool {
	return a == b || a.Version == b.Version && a.SameRows(b)
}
