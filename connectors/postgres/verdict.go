package postgres

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/freshet-io/freshet/connectors/arraytext"
	"github.com/freshet-io/freshet/connectors/cdc"
)

// supportedTypes are the type OIDs whose values every replica can hold; enumerations and arrays come on top.
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

// judge finds the key of a table among the columns that are replicated, or says why it cannot be replicated.
func (t *catalogTable) judge(table *cdc.Table) (key []int, stopped *cdc.TableError) {
	for _, check := range []func() *cdc.TableError{t.checkAccess, t.checkKind, t.checkIdentity} {
		if stopped := check(); stopped != nil {
			return nil, stopped
		}
	}
	return t.findKey(table)
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

// checkIdentity refuses a table that applications could not change any more once it is published: since 18 PostgreSQL refuses updates where the
// replica identity has a column that is not.
func (t *catalogTable) checkIdentity() *cdc.TableError {
	whole := t.Identity == "f" || slices.ContainsFunc(t.Leaves, func(l catalogLeaf) bool { return l.Identity == "f" })
	i := slices.IndexFunc(t.Columns, func(c catalogColumn) bool { return !t.streams(&c) })
	if !whole || i < 0 || t.serverVersion < 180000 {
		return nil
	}
	return t.stop(cdc.CodeConfiguration, "make the column STORED, give the table another replica identity than FULL, or exclude it",
		"its replica identity is FULL and column %q is a virtual generated column: PostgreSQL would refuse updates of what it publishes", t.Columns[i].Name)
}

// omission says why a column cannot be replicated; nil if it can.
func (t *catalogTable) omission(c *catalogColumn) *cdc.OmittedColumn {
	omit := func(remedy, detail string, args ...any) *cdc.OmittedColumn {
		return &cdc.OmittedColumn{Column: c.column(), Code: cdc.CodeUnsupportedType, Detail: fmt.Sprintf(detail, args...), Remedy: remedy}
	}
	switch {
	case !c.supported():
		return omit("change the column's type", "has type %s", c.TypeName)
	case slices.Contains(t.unstreamed, c.bottom()):
		return omit("change the column's type, or use the direct stream", "has type %s, which the transport does not carry", c.TypeName)
	case c.Generated == "v":
		return omit("make the column STORED (PostgreSQL 18)", "is a virtual generated column, which is not streamed")
	case !t.streams(c):
		return omit("upgrade to PostgreSQL 18", "is a generated column, which this version does not stream")
	case !c.Deterministic:
		return omit("use a deterministic collation", "has a nondeterministic collation")
	}
	return nil
}

// supported reports whether every replica can hold the column's values.
func (c *catalogColumn) supported() bool {
	return c.kind() == "e" || isArray(c.bottom()) || slices.Contains(supportedTypes, c.bottom())
}

func isArray(oid uint32) bool {
	_, ok := arraytext.Element(oid)
	return ok
}

// streams reports whether the column is part of what the server sends.
func (t *catalogTable) streams(c *catalogColumn) bool {
	return c.Generated == "" || c.Generated == "s" && t.serverVersion >= 180000
}

// findKey chooses the columns that identify a row: those of the replica identity, because only
// they come with a delete. Under REPLICA IDENTITY FULL all columns come, so that any unique key will do.
func (t *catalogTable) findKey(table *cdc.Table) ([]int, *cdc.TableError) {
	remedy := "add a PRIMARY KEY, or a unique index on NOT NULL columns with ALTER TABLE … REPLICA IDENTITY USING INDEX"
	lack := "it has no usable key: no primary key that is not deferrable and no replica identity index"
	var usable func(catalogIndex) bool
	switch {
	case t.Kind == "p":
		// It is the partitions' replica identity that decides what a change carries.
		for _, l := range t.Leaves {
			if l.Identity != "d" && l.Identity != "f" {
				return nil, t.stop(cdc.CodeNoKey, "ALTER TABLE … REPLICA IDENTITY DEFAULT on every partition",
					"one of its partitions has a replica identity other than DEFAULT or FULL")
			}
		}
		usable = func(x catalogIndex) bool { return x.Primary }
		lack = "it is partitioned and has no primary key"
	case t.Identity == "d":
		usable = func(x catalogIndex) bool { return x.Primary }
	case t.Identity == "i":
		usable = func(x catalogIndex) bool { return x.Identity }
	case t.Identity == "f":
		usable = func(catalogIndex) bool { return true }
	default:
		return nil, t.stop(cdc.CodeNoKey, "ALTER TABLE … REPLICA IDENTITY DEFAULT (or USING INDEX)",
			"its replica identity is NOTHING, so that updates and deletes cannot be followed")
	}
	key, omitted := t.keyOf(table, usable)
	switch {
	case key != nil:
		return key, nil
	case omitted != nil:
		return nil, t.stop(omitted.Code, "exclude the table, or "+omitted.Remedy, "column %q of its key %s", omitted.Name, omitted.Detail)
	}
	return nil, t.stop(cdc.CodeNoKey, remedy, "%s", lack)
}

// keyOf returns the columns of the best index that may be used: the primary key first, then the narrowest. Where there is
// none, omitted may be the column for want of which an index is not one.
func (t *catalogTable) keyOf(table *cdc.Table, usable func(catalogIndex) bool) (best []int, omitted *cdc.OmittedColumn) {
	for _, x := range t.Indexes {
		if !usable(x) || !x.Unique || !x.Immediate || !x.Valid || !x.Plain {
			continue
		}
		key, lacks := columnsOf(table, x)
		switch {
		case key == nil:
			omitted = cmp.Or(omitted, lacks)
		case x.Primary:
			return key, nil
		case best == nil || len(key) < len(best):
			best = key
		}
	}
	return best, omitted
}

// columnsOf maps an index onto the replicated columns. It returns no key unless all are NOT NULL, and the column that is not replicated
// if there is one.
func columnsOf(table *cdc.Table, x catalogIndex) (key []int, omitted *cdc.OmittedColumn) {
	for _, attr := range x.Attrs {
		i := slices.IndexFunc(table.Columns, func(c cdc.Column) bool { return c.Attr == attr })
		if i < 0 {
			at := slices.IndexFunc(table.Omitted, func(c cdc.OmittedColumn) bool { return c.Attr == attr })
			return nil, &table.Omitted[at]
		}
		if c := &table.Columns[i]; !c.NotNull || isArray(c.Type) && !arraytext.Alike(c.Type) { // of equal arrays there must be one text
			return nil, nil
		}
		key = append(key, i)
	}
	return key, nil
}
