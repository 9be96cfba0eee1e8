package sqlgen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// World is a set of tables with their rows.
type World struct {
	Seed   uint64
	Tables []*Table
	// Schema is where the tables are: public, until it is set to something else before the world is
	// used.
	Schema string
	// TimeZone is the session's zone for every query of this world.
	TimeZone string
}

// Table is a table and its rows.
type Table struct {
	Name    string
	Columns []Column
	Key     []int // indexes into Columns
	Rows    [][]*string
}

// Column is a column of a table.
type Column struct {
	Name    string
	Decl    string // type as declared, with modifiers and collation
	Kind    Kind
	NotNull bool

	t      typ
	domain string
	pool   []string
}

// tableSizes are the row counts of a world's tables, in random order.
var tableSizes = []int{0, 1, 8, 40, 150, 400, 2000}

var timeZones = append([]string{"UTC", "UTC", "UTC", "UTC", "UTC", "UTC", "Etc/UTC"}, TimeZones...)

// TimeZones are those that queries name, but for UTC.
var TimeZones = []string{"Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"}

// quirkyNames replace a column's plain name now and then.
var quirkyNames = []string{"Mixed Case", "select", "naïve", "a.b", "x\"y", "value", "order", "it's", "_epoch2", "if"}

// NewWorld makes the world of a seed.
func NewWorld(seed uint64) *World {
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	w := &World{Seed: seed, Schema: "public", TimeZone: timeZones[r.IntN(len(timeZones))]}
	sizes := append([]int(nil), tableSizes...)
	r.Shuffle(len(sizes), func(i, j int) { sizes[i], sizes[j] = sizes[j], sizes[i] })
	for i, n := range sizes {
		w.Tables = append(w.Tables, newTable(r, fmt.Sprintf("t%d", i), n))
	}
	return w
}

func newTable(r *rand.Rand, name string, rows int) *Table {
	t := &Table{Name: name}
	t.addKey(r)
	t.Columns = append(t.Columns,
		Column{Name: "ref_a", Decl: "int4", Kind: Int4, t: intType(Int4, 3000), domain: "key"},
		Column{Name: "ref_b", Decl: "int8", Kind: Int8, t: intType(Int8, 3000), domain: "key", NotNull: r.IntN(2) == 0})
	count := 7 + r.IntN(7)
	for range count {
		a := pickArchetype(r)
		c := Column{Name: fmt.Sprintf("%s_%d", a.name, len(t.Columns)), Decl: a.decl, Kind: a.t.kind,
			NotNull: r.IntN(3) == 0, t: a.t}
		if r.IntN(25) == 0 {
			c.Name = quirkyNames[r.IntN(len(quirkyNames))]
		}
		if t.has(c.Name) {
			continue
		}
		c.pool = a.pool(r)
		t.Columns = append(t.Columns, c)
	}
	t.fill(r, rows)
	return t
}

func (t *Table) has(name string) bool {
	for _, c := range t.Columns {
		if c.Name == name {
			return true
		}
	}
	return false
}

// addKey gives the table one of several forms of primary key.
func (t *Table) addKey(r *rand.Rand) {
	key := func(name, decl string, k Kind, domain string) {
		t.Key = append(t.Key, len(t.Columns)) // char(6) is the only bpchar
		t.Columns = append(t.Columns, Column{Name: name, Decl: decl, Kind: k, NotNull: true, domain: domain,
			t: typ{kind: k, max: 3000, scale: 6}})
	}
	switch r.IntN(8) {
	case 0:
		key("k1", "int2", Int2, "")
		key("k2", "int4", Int4, "key")
	case 1:
		key("id", "int8", Int8, "key")
	case 2:
		key("code", "text", Text, "code")
	case 3:
		key("code", "char(6)", Bpchar, "code")
		key("day", "date", Date, "")
	case 4:
		key("u", "uuid", UUID, "uuid")
	default:
		key("id", "int4", Int4, "key")
	}
}

// fill makes the rows: unique keys, and values drawn with repetition from each column's pool.
func (t *Table) fill(r *rand.Rand, rows int) {
	nullShare := make([]float64, len(t.Columns))
	for i, c := range t.Columns {
		if !c.NotNull {
			nullShare[i] = []float64{0, 0.05, 0.2, 0.6}[r.IntN(4)]
		}
	}
	reach := max(rows, 40)
	for n := range rows {
		row := make([]*string, len(t.Columns))
		for i, c := range t.Columns {
			if r.Float64() < nullShare[i] {
				continue
			}
			var v string
			switch {
			case t.isKey(i):
				v = keyValue(t, i, n)
			case c.domain == "key":
				v = fmt.Sprint(r.IntN(reach+reach/4+2) - 1)
			default:
				v = c.pool[r.IntN(len(c.pool))]
			}
			row[i] = &v
		}
		t.Rows = append(t.Rows, row)
	}
}

func (t *Table) isKey(col int) bool {
	for _, k := range t.Key {
		if k == col {
			return true
		}
	}
	return false
}

// keyValue makes the n-th key; the parts of a compound key are dense each.
func keyValue(t *Table, col, n int) string {
	c := t.Columns[col]
	if len(t.Key) == 2 {
		if col == t.Key[0] {
			n /= 4
		} else {
			n %= 4
		}
	}
	switch c.Kind {
	case Text, Bpchar:
		return fmt.Sprintf("c%d", n)
	case Date:
		return fmt.Sprintf("2024-02-%02d", 26+n%4)
	case UUID:
		return fmt.Sprintf("00000000-0000-4000-8000-%012x", n*2654435761%(1<<40))
	default:
		return fmt.Sprint(n)
	}
}

// samples returns some values of a column, for literals that hit.
func (t *Table) samples(col int) []string {
	var out []string
	step := max(1, len(t.Rows)/12)
	for i := 0; i < len(t.Rows); i += step {
		if v := t.Rows[i][col]; v != nil {
			out = append(out, *v)
		}
	}
	return append(out, t.Columns[col].pool...)
}

// DDL returns the statement that creates the table.
func (t *Table) DDL() string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE %s (", QuoteIdent(t.Name))
	for _, c := range t.Columns {
		fmt.Fprintf(&b, "%s %s", QuoteIdent(c.Name), c.Decl)
		if c.NotNull {
			b.WriteString(" NOT NULL")
		}
		b.WriteString(", ")
	}
	b.WriteString("PRIMARY KEY (")
	for i, k := range t.Key {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(QuoteIdent(t.Columns[k].Name))
	}
	b.WriteString("))")
	return b.String()
}

// Setup returns the statements that must precede the tables' creation.
func (w *World) Setup() []string {
	return []string{"CREATE SCHEMA IF NOT EXISTS " + w.Schema, "SET search_path = " + w.Schema, "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')"}
}

// QuoteIdent quotes an SQL identifier where it needs it.
func QuoteIdent(name string) string {
	plain := name != "select" && name != "order" && name != "if"
	for i, ch := range name {
		if (ch < 'a' || ch > 'z') && ch != '_' && (i == 0 || ch < '0' || ch > '9') {
			plain = false
		}
	}
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// QuoteLiteral quotes an SQL string.
func QuoteLiteral(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
