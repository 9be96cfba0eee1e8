package postgres

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
)

//go:embed version.sql
var versionExpression string

//go:embed discover.sql
var discoverTemplate string

// publishedVersion is an expression over pg_class c and its pg_namespace n: a table's version together with the rows by which the publication ($2) has
// the table. Whoever takes it off, or has the publication leave something out, and takes that back, leaves other rows behind. A view has none.
var publishedVersion = "concat_ws('/', " + versionExpression + `, (SELECT concat_ws(':', p.oid, p.xmin, r.oid)
	FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid WHERE p.pubname = $2 AND r.prrelid = c.oid))`

// discoverSQL lists tables with all that decides how they are replicated, one row each; discoverSomeSQL those of $1, of which a copy asks one after
// the other: it must not read the catalogs from end to end.
var (
	discoverSQL     = discovery("cardinality($1::oid[]) = 0", "true")
	discoverSomeSQL = discovery("c.oid = ANY ($1::oid[])", "t.oid = ANY (ARRAY(SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = ANY ($1::oid[])))")
)

// discovery is the query for the tables and for the types of their columns that two conditions select.
func discovery(tables, types string) string {
	return strings.NewReplacer(":version", publishedVersion, ":published", `EXISTS (
		SELECT FROM pg_publication p JOIN pg_publication_rel r ON r.prpubid = p.oid
		WHERE p.pubname = $2 AND r.prrelid = c.oid AND `+publishesAll+" AND NOT "+narrowsTable+")",
		":only", tables, ":typesonly", types).Replace(discoverTemplate)
}

// fingerprintSQL changes its result whenever discoverSQL's may have changed, at a fraction of the cost.
//
//go:embed fingerprint.sql
var fingerprintSQL string

// catalogTable is a row of discoverSQL.
type catalogTable struct {
	ID            uint32
	Schema, Name  string
	Kind          string // pg_class.relkind
	Identity      string // pg_class.relreplident
	RowSecurity   bool
	Owned         bool
	Readable      bool
	HasChildren   bool
	Version       string
	Published     bool
	Columns       []catalogColumn
	Indexes       []catalogIndex
	Leaves        []catalogLeaf
	serverVersion int
	seen          uint64   // how far the log was when this was read
	unstreamed    []uint32 // see Config.Unstreamed
}

type catalogColumn struct {
	Name          string `json:"name"`
	Attr          int16  `json:"attr"`
	Type          uint32 `json:"type"`
	TypeName      string `json:"typename"`
	TypeKind      string `json:"typekind"` // pg_type.typtype
	Modifier      int32  `json:"modifier"`
	NotNull       bool   `json:"notnull"`
	Generated     string `json:"generated"` // "", "s"tored or "v"irtual
	Bytewise      bool   `json:"bytewise"`
	Deterministic bool   `json:"deterministic"`
	Collation     string `json:"collation"` // as SQL writes it; empty: none
	// The base of a domain, resolved to the bottom; BaseType is 0 for other types.
	BaseType     uint32 `json:"basetype"`
	BaseKind     string `json:"basekind"`
	BaseModifier int32  `json:"basemodifier"`
	// Labels are those of an enumeration, in its order.
	Labels []string `json:"labels"`
}

type catalogIndex struct {
	Primary   bool    `json:"primary"`
	Identity  bool    `json:"identity"` // chosen by REPLICA IDENTITY USING INDEX
	Unique    bool    `json:"unique"`
	Immediate bool    `json:"immediate"`
	Valid     bool    `json:"valid"`
	Plain     bool    `json:"plain"` // neither partial nor on expressions
	Attrs     []int16 `json:"attrs"`
}

type catalogLeaf struct {
	ID          uint32 `json:"id"`
	Kind        string `json:"kind"`
	Persistence string `json:"persistence"`
	Identity    string `json:"identity"`
}

// definition is one version of a table as the catalog has it.
type definition struct {
	table   *cdc.Table
	stopped *cdc.TableError
	shape   shape // what its relation message will say
	// published says that the publication streams all changes of the table, by the rows that are part of its version.
	published   bool
	partitioned bool
	partitions  []cdc.TableID // those that hold rows
	// seen is a position from which on it held: transactions that commit later have made their changes under it, or under a newer one.
	seen uint64
}

func (d *definition) discovered() cdc.Discovered {
	return cdc.Discovered{Table: d.table, Stopped: d.stopped}
}

// discover reads the definitions of the selected tables; only those of ids if any are given.
func (s *Source) discover(ctx context.Context, ids ...cdc.TableID) ([]*definition, error) {
	only := make([]uint32, 0, len(ids))
	for _, id := range ids {
		only = append(only, uint32(id))
	}
	sql := discoverSQL
	if len(only) > 0 {
		sql = discoverSomeSQL
	}
	rows, err := s.pool.Query(ctx, sql, only, s.cfg.Publication)
	if err != nil {
		return nil, fmt.Errorf("discover tables: %w", err)
	}
	defs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*definition, error) {
		t, err := scanTable(row)
		if err != nil {
			return nil, err
		}
		if t == nil || !s.selector.Selects(t.Schema, t.Name) {
			return nil, nil
		}
		t.unstreamed = s.cfg.Unstreamed
		return t.definition(), nil
	})
	if err != nil {
		return nil, fmt.Errorf("discover tables: %w", err)
	}
	selected := defs[:0]
	for _, d := range defs {
		if d != nil {
			selected = append(selected, d)
		}
	}
	s.refuse(ctx, selected, len(ids) == 0)
	return selected, nil
}

// refuse stops the tables that the transport refuses. The transport judges all tables together, so it is asked only where defs are all that
// there are; a part of them is judged by what it said then.
func (s *Source) refuse(ctx context.Context, defs []*definition, all bool) {
	if s.cfg.Refuse == nil {
		return
	}
	if all {
		var tables []*cdc.Table
		for _, d := range defs {
			if d.stopped == nil {
				tables = append(tables, d.table)
			}
		}
		refused := s.cfg.Refuse(ctx, tables)
		s.refused.Store(&refused)
	}
	refused := s.refused.Load()
	if refused == nil {
		return
	}
	for _, d := range defs {
		if d.stopped == nil {
			d.stopped = (*refused)[d.table.ID]
		}
	}
}

// scanTable returns nil for a table that was dropped meanwhile: privileges are looked up in the present, the rest in the query's snapshot.
func scanTable(row pgx.CollectableRow) (*catalogTable, error) {
	var t catalogTable
	var readable *bool
	var columns, indexes, leaves []byte
	if err := row.Scan(&t.ID, &t.Schema, &t.Name, &t.Kind, &t.Identity, &t.RowSecurity, &t.Owned, &readable,
		&t.HasChildren, &t.serverVersion, &t.seen, &t.Version, &t.Published, &columns, &indexes, &leaves); err != nil {
		return nil, err
	}
	if readable == nil {
		return nil, nil
	}
	t.Readable = *readable
	for _, part := range []struct {
		data []byte
		into any
	}{{columns, &t.Columns}, {indexes, &t.Indexes}, {leaves, &t.Leaves}} {
		if err := json.Unmarshal(part.data, part.into); err != nil {
			return nil, fmt.Errorf("decode catalog of %s.%s: %w", t.Schema, t.Name, err)
		}
	}
	return &t, nil
}

// definition turns catalog rows into a table, or into the reason why it cannot be replicated.
func (t *catalogTable) definition() *definition {
	table := &cdc.Table{ID: cdc.TableID(t.ID), Schema: t.Schema, Name: t.Name, Version: t.Version}
	s := shape{schema: t.Schema, name: t.Name, identity: t.Identity[0]}
	for i := range t.Columns {
		c := &t.Columns[i]
		if t.streams(c) {
			s.columns = append(s.columns, shapeColumn{name: c.Name, typ: c.Type, modifier: c.Modifier, key: t.identifies(c)})
		}
		if omitted := t.omission(c); omitted != nil {
			table.Omitted = append(table.Omitted, *omitted)
			continue
		}
		table.Columns = append(table.Columns, c.column())
		if len(c.Labels) > 0 {
			if table.Enums == nil {
				table.Enums = map[uint32][]string{}
			}
			table.Enums[c.bottom()] = c.Labels
		}
	}
	key, stopped := t.judge(table)
	table.Key = key
	d := &definition{table: table, stopped: stopped, shape: s, published: t.Published, seen: t.seen, partitioned: t.Kind == "p"}
	for _, l := range t.Leaves {
		d.partitions = append(d.partitions, cdc.TableID(l.ID))
	}
	return d
}

// identifies reports whether the server calls the column a part of the table's replica identity. That of a partitioned table is its own, whatever its
// partitions have.
func (t *catalogTable) identifies(c *catalogColumn) bool {
	return t.Identity == "f" || slices.ContainsFunc(t.Indexes, func(x catalogIndex) bool {
		chosen := t.Identity == "d" && x.Primary || t.Identity == "i" && x.Identity
		return chosen && x.Immediate && x.Valid && slices.Contains(x.Attrs, c.Attr)
	})
}

// column describes the column, whether it is replicated or not.
func (c *catalogColumn) column() cdc.Column {
	out := cdc.Column{Name: c.Name, Type: c.bottom(), Modifier: c.Modifier, NotNull: c.NotNull, Attr: c.Attr, Enum: c.kind() == "e"}
	out.Collate(c.Collation, c.Bytewise)
	if c.BaseType != 0 {
		out.Modifier, out.Domain = c.BaseModifier, c.Type
	}
	return out
}

// bottom returns the OID of the type below any domain.
func (c *catalogColumn) bottom() uint32 { return cmp.Or(c.BaseType, c.Type) }

// kind returns pg_type.typtype below any domain.
func (c *catalogColumn) kind() string {
	if c.BaseType != 0 {
		return c.BaseKind
	}
	return c.TypeKind
}

func sameDefinition(a, b *definition) bool {
	if (a.stopped == nil) != (b.stopped == nil) || a.stopped != nil && *a.stopped != *b.stopped {
		return false
	}
	return a.table.Version == b.table.Version && a.table.SameRows(b.table) && a.shape.equal(b.shape)
}
