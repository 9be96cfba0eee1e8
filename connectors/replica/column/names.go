package column

import (
	"fmt"
	"slices"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// reserved are the names that a column of the source's must not have: those of the replica's own, those of which MergeTree keeps values with a
// table's, and those by which it finds parts and rows (its virtual columns, 26.7). A column called _table or _database merely hides that of the engine.
var reserved = []string{RowID, Epoch, Since, "_row_exists", "_block_number", "_block_offset",
	"_part", "_part_index", "_part_starting_offset", "_part_uuid", "_part_offset", "_part_granule_offset", "_part_data_version",
	"_partition_id", "_partition_value", "_sample_factor", "_disk_name", "_distance"}

// requireOwnNames refuses a table with a column that the engine takes for something else: one with a reserved name, or with
// that of a part of another column. Of x it has x.null, x.size and more, by the type, and fails only once it writes a base that has masked rows.
func requireOwnNames(t *cdc.Table) error {
	names := make(map[string]bool, len(t.Columns))
	for _, c := range t.Columns {
		names[c.Name] = true
	}
	for _, c := range t.Columns {
		name := c.Name
		if slices.Contains(reserved, name) {
			return fmt.Errorf("column name %q is reserved for the columnar store", name)
		}
		for i := range name {
			if name[i] == '.' && names[name[:i]] {
				return fmt.Errorf("column name %q is that of a part of column %q in the columnar store", name, name[:i])
			}
		}
	}
	return nil
}
