package translate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/finish"
	"github.com/freshet-io/freshet/gateway/timezone"
)

// Unsupported says why a statement has no proven translation. It is to be run by PostgreSQL.
type Unsupported struct {
	// Reason names the construct, for EXPLAIN (FRESHET) and metrics; it holds no data of the statement.
	Reason string
	// Absent is the table that neither the catalog nor [Env.Views] has, if that is the reason; nil otherwise.
	Absent *AbsentTable
	// Outdated says that a view was read under other definitions of its tables than the catalog's.
	Outdated bool
	// Zone is a time zone that a translation would need in [Env.Zones], if that is the reason; empty otherwise.
	Zone string
	// Enum is a type that a translation would need in [Env.Enums], if that is the reason; nil otherwise.
	Enum *EnumRef
	// Defect tells of a panic of the translation, which is to be reported, if that is the reason; empty otherwise.
	Defect string
	// unknownColumn says that a name is of no column in sight: it may be of a query around.
	unknownColumn bool
}

// AbsentTable is a table as a statement or a view names it.
type AbsentTable struct {
	// Schema is empty where the search path decides, which it does in statements only.
	Schema, Name string
}

func (e *Unsupported) Error() string { return "not translated: " + e.Reason }

func unsupported(format string, args ...any) error {
	return &Unsupported{Reason: fmt.Sprintf(format, args...)}
}

// Catalog finds tables by name.
type Catalog interface {
	// Table resolves a name as PostgreSQL would with this search path; schema is empty for an
	// unqualified name. It returns only tables that are replicated and ready.
	Table(searchPath []string, schema, name string) (*cdc.Table, bool)
}

// Field is one column of PostgreSQL's own description of the statement's result.
type Field struct {
	Name     string
	TypeOID  uint32
	Modifier int32
	TableOID uint32
	Attr     int16
}

// Param is one bound parameter.
type Param struct {
	Null bool
	// Format is the protocol's format code: 0 text, 1 binary.
	Format int16
	Value  []byte
}

// Traits are what a database answers by besides its data.
type Traits struct {
	// BytewiseCollation says that the database's default collation orders strings by their bytes.
	BytewiseCollation bool
	// ASCIICase says that the database's default collation knows no other cases of ASCII letters than ASCII's, as a Turkish one does.
	ASCIICase bool
	// LowerStrays and UpperStrays are the characters beyond ASCII of which the database's default collation makes one of ASCII, or several, in lower or
	// upper case; empty: it is not known which.
	LowerStrays, UpperStrays string
	// UnfusedFloats says that the server rounds a product of floats before it adds to it, as programs for x86-64 usually do. Where it is compiled to
	// multiply and add at once, interpolated percentiles differ in the last digit.
	UnfusedFloats bool
}

// Env is what a translation depends on besides the statement.
type Env struct {
	// Database is the one of the session; tools write its name before those of tables.
	Database   string
	Catalog    Catalog
	SearchPath []string
	// Views are what names mean that the catalog has not.
	Views map[AbsentTable]*View
	// TimeZone is the session's setting, as PostgreSQL reports it.
	TimeZone string
	Traits
	Fields    []Field
	ParamOIDs []uint32
	Params    []Param
	// Clock is the time that the statement sees; nil: one that asks for it is not translated.
	Clock *Clock
	// Zones are time zones by their names; nil is one that the source does not tell of.
	Zones map[string]*timezone.Zone
	// Enums are enumerations by what names them; nil is another type.
	Enums map[EnumRef]*Enum
	// Dialect is the source database's.
	Dialect Dialect
	// Rows estimates a table's number of rows; nil: unknown. It only affects speed.
	Rows func(cdc.TableID) int64
}

// Relation is a table that a plan reads.
type Relation struct {
	Table *cdc.Table
	// Columns are indexes into Table.Columns, ascending, never empty.
	Columns []int
}

// Access is a table or a view that a statement reads.
type Access struct {
	ID cdc.TableID
	// As is the OID of the role whose privileges count: a view's owner; 0: the session's.
	As uint32
}

// Plan is a translated statement. It is immutable.
type Plan struct {
	Relations []Relation
	// Accesses are the tables and views that are read, each once for every role.
	Accesses []Access
	// Output says how each result column is made of the engine's columns.
	Output []finish.Column
	// Sort is what becomes of the rows before the client sees them; nil: nothing. The engine yields the columns of Sort after those of Output then.
	Sort *finish.Sort
	// Settings are the engine settings that the SQL's meaning and speed depend on; all must be sent along.
	Settings map[string]string
	// PointRead says that every table is bound by equality on its whole key.
	PointRead bool
	// Unequal says that tables are joined by conditions none of which is an equality.
	Unequal bool
	// Ordered says that the statement fixes the order of its rows.
	Ordered bool

	text []string // SQL between relations
	refs []int    // refs[i] is the relation between text[i] and text[i+1]
}

// Columns are all columns that the engine yields.
func (p *Plan) Columns() []finish.Column {
	if p.Sort == nil {
		return p.Output
	}
	return append(slices.Clip(p.Output), p.Sort.Columns()...)
}

// SQL returns the engine's statement. relation gives the text that stands for
// Relations[i] in a FROM clause: a table name or a parenthesised subquery that yields at least Columns,
// without an alias.
func (p *Plan) SQL(relation func(i int) string) string {
	var b strings.Builder
	for i, t := range p.text {
		b.WriteString(t)
		if i < len(p.refs) {
			b.WriteString(relation(p.refs[i]))
		}
	}
	return b.String()
}
