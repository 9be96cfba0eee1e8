package cdc

// View is a query of the source's that has a name. Views are not replicated: whoever reads one reads the tables of its query.
type View struct {
	ID           TableID
	Schema, Name string
	// Query is the query's text, in which all relations, and all functions but built-in ones, have their schemas before their names.
	Query   string
	Columns []ViewColumn
	// Owner is the OID of the role as which the relations in Query are read; 0: whoever reads the view (security_invoker).
	Owner uint32
	// Barrier says that a reader's conditions must not see rows that the view leaves out (security_barrier).
	Barrier bool
	// Version changes with everything that may change the view's rows, except for what happens to the relations in Reads: those have rows and
	// versions of their own.
	Version string
	// Reads are the relations that Query names, with the versions that they had when the server printed Query. Under other versions the text
	// might name them, or their columns, differently.
	Reads map[TableID]string
}

// ViewColumn is a column of a [View].
type ViewColumn struct {
	Name string
	// Type is the PostgreSQL type OID, below a domain.
	Type uint32
	// Attr is the column's attribute number.
	Attr int16
}

// FullName returns schema.name, unquoted.
func (v *View) FullName() string { return v.Schema + "." + v.Name }
