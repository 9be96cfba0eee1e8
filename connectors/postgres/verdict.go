package postgres

import (
	"fmt"
	"slices"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// supportedTypes are the type OIDs whose values every replica can hold; enumerations come on top.
var supportedTypes = []uint32{
	16,         // bool
	21, 23, 20, // int2, int4, int8
	1700,     // numeric
	700, 701, // float4, float8
	25, 1043, 1042, 18, 19, // text, varchar, bpchar, "char", name
	1082, 1114, 1184, 1083, // date, timestamp, timestamptz, time
	2950,      // uuid
	17,        // bytea
	114, 3802, // json, jsonb
}

// judge finds the key of a table, or says why it cannot be replicated.
func (t *catalogTable) judge() (key []int, stopped *cdc.TableError) {
	for _, check := range []func() *cdc.TableError{t.checkAccess, t.checkKind, t.checkColumns} {
		if stopped := check(); stopped != nil {
			return nil, stopped
		}
	}
	return t.findKey()
}

func (t *catalogTable) stop(code cdc.Code, remedy, detail string, args ...any) *cdc.TableError {
	return &cdc.TableError{Code: code, Table: t.Schema + "." + t.Name, Detail: fmt.Sprintf(detail, args...), Remedy: remedy}
}

func (t *catalogTable) checkAccess() *cdc.TableError {
	switch {
	case !t.Owned:
		return t.stop(cdc.CodePrivilege, "make the replication role a member of the table's owner",
			"only its owner may publish it")
	case !t.Readable:
		return t.stop(cdc.CodePrivilege, "GRANT SELECT on it to the replication role", "it may not be read")
	case t.RowSecurity:
		return t.stop(cdc.CodeConfiguration, "disable row security on it or exclude it",
			"its row security policies cannot be kept on a replica")
	}
	return nil
}

func (t *catalogTable) checkKind() *cdc.TableError {
	if t.HasChildren {
		return t.stop(cdc.CodeConfiguration, "exclude it, or turn it into a partitioned table",
			"other tables inherit from it, so that reading it reads them too")
	}
	for _, l := range t.Leaves {
		if l.Kind != "r" || l.Persistence != "p" {
			return t.stop(cdc.CodeConfiguration, "exclude it, or detach that partition",
				"one of its partitions is a foreign or unlogged table, whose changes are not streamed")
		}
	}
	return nil
}

func (t *catalogTable) checkColumns() *cdc.TableError {
	if len(t.Columns) == 0 {
		return t.stop(cdc.CodeNoKey, "exclude it", "it has no columns")
	}
	for _, c := range t.Columns {
		typ := c.Type
		if c.BaseType != 0 {
			typ = c.BaseType
		}
		switch {
		case c.kind() != "e" && !slices.Contains(supportedTypes, typ):
			return t.stop(cdc.CodeUnsupportedType, "exclude the table or change the column's type",
				"column %q has type %s", c.Name, c.TypeName)
		case c.Generated == "v":
			return t.stop(cdc.CodeUnsupportedType, "exclude the table or make the column STORED (PostgreSQL 18)",
				"column %q is a virtual generated column, which is not streamed", c.Name)
		case c.Generated != "" && t.serverVersion < 180000:
			return t.stop(cdc.CodeUnsupportedType, "exclude the table or upgrade to PostgreSQL 18",
				"column %q is a generated column, which this version does not stream", c.Name)
		case !c.Deterministic:
			return t.stop(cdc.CodeUnsupportedType, "exclude the table or use a deterministic collation",
				"column %q has a nondeterministic collation", c.Name)
		}
	}
	return nil
}

// findKey chooses the columns that identify a row: those of the replica identity, because only
// they come with a delete. Under REPLICA IDENTITY FULL all columns come, so that any unique key will do.
func (t *catalogTable) findKey() ([]int, *cdc.TableError) {
	const remedy = "add a PRIMARY KEY, or a unique index on NOT NULL columns with ALTER TABLE … REPLICA IDENTITY USING INDEX"
	if t.Kind == "p" {
		return t.findPartitionedKey(remedy)
	}
	var usable func(catalogIndex) bool
	switch t.Identity {
	case "d":
		usable = func(x catalogIndex) bool { return x.Primary }
	case "i":
		usable = func(x catalogIndex) bool { return x.Identity }
	case "f":
		usable = func(catalogIndex) bool { return true }
	default:
		return nil, t.stop(cdc.CodeNoKey, "ALTER TABLE … REPLICA IDENTITY DEFAULT (or USING INDEX)",
			"its replica identity is NOTHING, so that updates and deletes cannot be followed")
	}
	if key := t.keyOf(usable); key != nil {
		return key, nil
	}
	return nil, t.stop(cdc.CodeNoKey, remedy, "it has no usable key: no primary key that is not deferrable and no replica identity index")
}

// findPartitionedKey goes by the partitions' replica identity: it is theirs that decides what a change carries.
func (t *catalogTable) findPartitionedKey(remedy string) ([]int, *cdc.TableError) {
	for _, l := range t.Leaves {
		if l.Identity != "d" && l.Identity != "f" {
			return nil, t.stop(cdc.CodeNoKey, "ALTER TABLE … REPLICA IDENTITY DEFAULT on every partition",
				"one of its partitions has a replica identity other than DEFAULT or FULL")
		}
	}
	if key := t.keyOf(func(x catalogIndex) bool { return x.Primary }); key != nil {
		return key, nil
	}
	return nil, t.stop(cdc.CodeNoKey, remedy, "it is partitioned and has no primary key")
}

// keyOf returns the columns of the best index that may be used: the primary key first, then the narrowest.
func (t *catalogTable) keyOf(usable func(catalogIndex) bool) []int {
	var best []int
	for _, x := range t.Indexes {
		if !usable(x) || !x.Unique || !x.Immediate || !x.Valid || !x.Plain {
			continue
		}
		key := t.columnsOf(x)
		if key == nil {
			continue
		}
		if x.Primary {
			return key
		}
		if best == nil || len(key) < len(best) {
			best = key
		}
	}
	return best
}

// columnsOf maps an index onto the table's columns; nil unless all are NOT NULL.
func (t *catalogTable) columnsOf(x catalogIndex) []int {
	key := make([]int, 0, len(x.Attrs))
	for _, attr := range x.Attrs {
		i := slices.IndexFunc(t.Columns, func(c catalogColumn) bool { return c.Attr == attr })
		if i < 0 || !t.Columns[i].NotNull {
			return nil
		}
		key = append(key, i)
	}
	return key
}
