package cockroachdb

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/freshet-io/freshet/connectors/cdc"
)

//go:embed catalog.sql
var catalogSQL string

// catalogColumn is a column as the catalog query tells it.
type catalogColumn struct {
	Name      string
	Type      uint32
	Modifier  int32
	NotNull   bool
	Attr      int16
	Kind      string
	TypeName  string
	Hidden    bool
	Virtual   bool
	Collation string
}

// catalogTable is a row of the catalog query.
type catalogTable struct {
	id           cdc.TableID
	schema, name string
	columns      []catalogColumn
	key          []string
	version      string
}

// parseTable reads a row of the catalog query: the table's ID, schema, name, columns and key, both as JSON, and version.
func parseTable(row []string) (catalogTable, error) {
	if len(row) != 6 {
		return catalogTable{}, fmt.Errorf("read catalog: a row of %d columns, want 6", len(row))
	}
	id, err := strconv.ParseUint(row[0], 10, 32)
	if err != nil {
		return catalogTable{}, fmt.Errorf("read catalog: table ID: %w", err)
	}
	t := catalogTable{id: cdc.TableID(id), schema: row[1], name: row[2], version: row[5]}
	for _, part := range []struct {
		text string
		into any
	}{{row[3], &t.columns}, {row[4], &t.key}} {
		if part.text == "" { // NULL: no rows
			continue
		}
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return catalogTable{}, fmt.Errorf("read catalog: table %s.%s: %w", t.schema, t.name, err)
		}
	}
	slices.SortFunc(t.columns, func(a, b catalogColumn) int { return int(a.Attr) - int(b.Attr) })
	return t, nil
}

// discover makes a definition of a table, or says why it cannot be replicated.
func (t *catalogTable) discover() cdc.Discovered {
	def := &cdc.Table{ID: t.id, Schema: t.schema, Name: t.name, Version: t.version}
	for _, c := range t.columns {
		if c.Hidden && c.Virtual {
			continue // of a hash-sharded key, which has its columns besides
		}
		col := cdc.Column{Name: c.Name, Type: c.Type, Modifier: c.Modifier, NotNull: c.NotNull, Attr: c.Attr, Enum: c.Kind == "e",
			BytewiseCollation: c.Collation == "" || c.Collation == "default" || c.Collation == "C"}
		if slices.Contains(t.key, c.Name) {
			col.NotNull = true
		}
		if detail, remedy := c.omission(); detail != "" {
			def.Omitted = append(def.Omitted, cdc.OmittedColumn{Column: col, Code: cdc.CodeUnsupportedType, Detail: detail, Remedy: remedy})
			continue
		}
		def.Columns = append(def.Columns, col)
	}
	for _, name := range t.key {
		if i := slices.IndexFunc(def.Columns, func(c cdc.Column) bool { return c.Name == name }); i >= 0 {
			def.Key = append(def.Key, i)
		}
	}
	return cdc.Discovered{Table: def, Stopped: t.judge(def)}
}

// omission says why a column cannot be replicated; empty if it can.
func (c *catalogColumn) omission() (detail, remedy string) {
	switch {
	case c.Virtual:
		return "is a virtual computed column, which changefeeds leave out", "make the column STORED"
	case c.Kind != "e" && !supported(c.Type):
		return "has type " + c.TypeName, "change the column's type"
	}
	return "", ""
}

// judge says why a table cannot be replicated, or nil.
func (t *catalogTable) judge(def *cdc.Table) *cdc.TableError {
	stop := func(code cdc.Code, remedy, detail string, args ...any) *cdc.TableError {
		return &cdc.TableError{Code: code, Table: def.FullName(), Detail: fmt.Sprintf(detail, args...), Remedy: remedy}
	}
	if t.version == "" {
		return stop(cdc.CodePrivilege, "let the source's role read it and crdb_internal", "crdb_internal.tables does not show its version")
	}
	for _, c := range t.columns {
		switch {
		case c.Hidden && c.Virtual:
		case c.Hidden && slices.Contains(t.key, c.Name):
			return stop(cdc.CodeNoKey, "ALTER TABLE … ALTER PRIMARY KEY USING COLUMNS (…), or exclude it", "it has no primary key but the hidden column %q", c.Name)
		case c.Hidden:
			// Names find such a column that * does not show: a statement's names could mean another one.
			return stop(cdc.CodeUnsupportedType, "exclude the table, or make the column VISIBLE", "column %q is hidden", c.Name)
		}
	}
	for _, o := range def.Omitted {
		if slices.Contains(t.key, o.Name) {
			return stop(o.Code, "exclude the table, or "+o.Remedy, "column %q of its key %s", o.Name, o.Detail)
		}
	}
	if len(def.Key) == 0 {
		return stop(cdc.CodeNoKey, "add a primary key, or exclude it", "it has no primary key")
	}
	return nil
}
