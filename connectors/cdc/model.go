package cdc

import (
	"slices"
	"time"
)

// TableID names a table for as long as it exists at the source (PostgreSQL: its OID).
type TableID uint32

// Table describes one version of a table's definition. A definition never
// changes in place: a schema change yields a new *Table with the same ID.
type Table struct {
	ID     TableID
	Schema string
	Name   string
	// Columns are those that are replicated, in order of Attr.
	Columns []Column
	// Omitted are the others, in order of Attr. No change and no copy has values of them.
	Omitted []OmittedColumn `json:",omitempty"`
	// Key lists the indexes into Columns that identify a row, in key order. Never empty
	// for a table that is replicated.
	Key []int
	// Version changes with everything that changes the table's rows, or what they mean, without changes in the
	// stream: a copy is of no use under another version. Empty where the source has no such events.
	Version string
	// Enums are the labels of the enumerations that the columns have, in the enumeration's order, by the OID of the type. They are part of what
	// Version stands for. Empty where the source does not tell them.
	Enums map[uint32][]string `json:",omitempty"`
}

// FullName returns schema.name, unquoted.
func (t *Table) FullName() string { return t.Schema + "." + t.Name }

// SameRows reports whether t and o define one table so that a row of the one is a row of the other: they agree in all but their versions
// and the order of labels.
func (t *Table) SameRows(o *Table) bool {
	return t.ID == o.ID && t.Schema == o.Schema && t.Name == o.Name && slices.Equal(t.Columns, o.Columns) &&
		slices.Equal(t.Omitted, o.Omitted) && slices.Equal(t.Key, o.Key)
}

// Column is a column of a [Table].
type Column struct {
	Name string
	// Type is the PostgreSQL type OID, below any domain; CockroachDB's types map onto the same OIDs.
	Type uint32
	// Domain is the OID of the type that the column is declared with, if that is a domain; 0 otherwise.
	Domain uint32 `json:",omitempty"`
	// Modifier is PostgreSQL's atttypmod; -1 when there is none.
	Modifier int32
	// NotNull says that the source promises no NULL in this column.
	NotNull bool
	// Attr is the column's attribute number at the source (PostgreSQL: attnum).
	Attr int16
	// BytewiseCollation says that the column's collation orders strings by their bytes
	// (C, POSIX, C.UTF-8 and types without a collation).
	BytewiseCollation bool
	// Collation is the collation's name, as SQL writes it; empty: the database's default if it orders by bytes, else not known.
	Collation string `json:",omitempty"`
	// Enum says that the type is an enumeration; values travel as labels.
	Enum bool
}

// DefaultCollation is the name of the database's own collation, as SQL writes it.
const DefaultCollation = `pg_catalog."default"`

// Collate sets the column's collation by its name. That of the database is left out if it orders by bytes: most columns have it.
func (c *Column) Collate(name string, bytewise bool) {
	c.BytewiseCollation, c.Collation = bytewise, name
	if bytewise && name == DefaultCollation {
		c.Collation = ""
	}
}

// OmittedColumn is a column of a [Table] that cannot be replicated. What reads it is for the source database to answer.
type OmittedColumn struct {
	Column
	// Code, Detail and Remedy say why it is left out. Detail completes "column … ".
	Code           Code
	Detail, Remedy string
}

// Op is what a [Change] did to a row.
type Op uint8

// The operations of a change.
const (
	Insert Op = iota + 1
	Update
	Delete
	Truncate
)

// DatumKind says how a [Datum] carries its value.
type DatumKind uint8

// The kinds of datum. The zero kind is Absent: the source did not send the column.
const (
	Absent    DatumKind = iota
	Null                // SQL NULL
	Text                // Data holds the type's text output
	Binary              // Data holds the type's binary send format
	Unchanged           // an unchanged TOASTed value that the source did not send
)

// Datum is one column's value as the source sent it. Data is only valid as long
// as the call that handed it over, unless said otherwise.
type Datum struct {
	Kind DatumKind
	Data []byte
}

// Row holds one datum per column of its table.
type Row []Datum

// Change is what a transaction did to one row.
type Change struct {
	Table *Table
	Op    Op
	// Old holds the previous key columns (others Absent) of a Delete, and of an Update that changed
	// the key; nil otherwise.
	Old Row
	// New holds the new row of an Insert or Update; nil otherwise.
	New Row
}

// Commit ends a transaction.
type Commit struct {
	Position Position
	// Time is the commit time by the source's clock, or by the consumer's where the source knows how they differ; zero: not known. Nothing that was
	// committed at Time comes after Position.
	Time time.Time
}

// Watermark says that every transaction committed up to Position has been
// handed over, and that Position covered all that was committed at Time.
// It keeps staleness honest while the source is idle.
type Watermark struct {
	Position Position
	Time     time.Time
}
