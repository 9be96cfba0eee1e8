package syntax

import (
	"errors"
	"regexp"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Class is what the relay must know of a statement text before anything else.
// The zero Class stands for a text that must be relayed as it is.
type Class struct {
	// Candidate: one read-only SELECT, VALUES or WITH … SELECT over tables. Only a candidate is worth
	// describing and translating.
	Candidate bool
	// Reason says why the text is no candidate; empty if it is.
	Reason string
	// Writes: some statement may change data or session state, if only by a function that is not known to be harmless.
	Writes bool
	// FromLess: a query that reads no table, but system catalogs perhaps that it names with their schema, as psql and drivers do.
	FromLess bool
	// Catalogs: a query that reads no table but system catalogs, of which it names some without their schema.
	Catalogs bool
	// Parameters: a query that names some ($1).
	Parameters bool
	// ExplainFreshet: EXPLAIN (FRESHET) statement; Explained is the text of the statement to explain.
	ExplainFreshet bool
	Explained      string
	// Point is set for a candidate that reads one table and binds columns to single values.
	Point *Point
	// Declared is set for the DECLARE of a cursor whose query is a candidate.
	Declared *Declared
}

// Point are the facts that make a statement a point read, if Columns cover the table's key.
type Point struct {
	Schema, Table string
	// Columns are bound by equality to a constant or parameter.
	Columns []string
}

// Classify parses sql and says what it is. It needs no catalog.
func Classify(sql string) Class {
	t, err := Parse(sql)
	if err != nil {
		c := Class{Writes: true, Reason: "the grammar does not know it"}
		if errors.Is(err, errNests) {
			c.Reason = "it has too many operators and names to be parsed"
		}
		return c
	}
	return t.Classify(sql)
}

// Classify says what the statements are. sql is the text that was parsed.
func (t *Tree) Classify(sql string) Class {
	var c Class
	for _, s := range t.statements {
		switch v := s.Stmt.GetNode().(type) {
		case *pg.Node_VariableShowStmt:
		case *pg.Node_SelectStmt:
			if intoClause(v.SelectStmt) {
				c.Writes = true
				continue
			}
			q := inspect(v.SelectStmt)
			c.Writes = c.Writes || q.writes != ""
			c.FromLess, c.Parameters = q.tables == 0, q.parameters
			c.Catalogs = q.tables > 0 && q.tables == q.unqualified
			if len(t.statements) == 1 {
				c.Reason = q.reason()
				c.Candidate = c.Reason == ""
				c.Point = q.point(v.SelectStmt)
			}
		case *pg.Node_ExplainStmt:
			if len(t.statements) == 1 { // the others would not be run
				c.ExplainFreshet, c.Explained = explainFreshet(s, sql)
			}
			c.Writes = c.Writes || !c.ExplainFreshet
		case *pg.Node_DeclareCursorStmt:
			c.Writes = true
			if len(t.statements) == 1 {
				c.Declared, c.Reason = declared(v.DeclareCursorStmt, sql)
			}
		default:
			c.Writes = true
		}
	}
	switch {
	case len(t.statements) > 1:
		c.Reason = "several statements"
	case !c.Candidate && c.Reason == "":
		c.Reason = "not a query"
	}
	return c
}

// intoClause finds SELECT … INTO, which the grammar keeps at the leftmost arm of a set operation.
func intoClause(s *pg.SelectStmt) bool {
	for ; s != nil; s = s.Larg {
		if s.IntoClause != nil {
			return true
		}
	}
	return false
}

// explainFreshet cuts the explained statement out of the text: it starts after the option list.
func explainFreshet(s *pg.RawStmt, sql string) (bool, string) {
	explain := s.Stmt.GetExplainStmt()
	found := false
	for _, o := range explain.GetOptions() {
		found = found || o.GetDefElem().GetDefname() == "freshet"
	}
	if !found {
		return false, ""
	}
	text := sql[s.StmtLocation:]
	if s.StmtLen > 0 {
		text = text[:s.StmtLen]
	}
	m := explainOptions.FindStringSubmatch(text)
	if m == nil {
		return false, ""
	}
	return true, strings.TrimSpace(m[1])
}

// explainOptions finds what follows the options of EXPLAIN, perhaps behind comments. Option values of ours hold no parenthesis.
var explainOptions = regexp.MustCompile(`(?is)^(?:\s|--[^\n\r]*|/\*.*?\*/)*EXPLAIN\b[^)]*\)(.*)$`)

func (q findings) reason() string {
	switch {
	case q.modifies:
		return "data-modifying WITH"
	case q.writes != "":
		return q.writes
	case q.locking:
		return "locking clause"
	case q.tables == 0 && q.catalogs > 0:
		return "reads system catalogs alone"
	case q.tables == 0:
		return "reads no table"
	}
	return ""
}

// point finds the equality conditions that every row of a single table's query meets.
func (q findings) point(s *pg.SelectStmt) *Point {
	if q.reason() != "" || s.WithClause != nil || len(s.FromClause) != 1 || s.FromClause[0].GetRangeVar() == nil || q.tables != 1 {
		return nil
	}
	table := s.FromClause[0].GetRangeVar()
	p := &Point{Schema: table.Schemaname, Table: table.Relname}
	for _, c := range Conjuncts(s.WhereClause) {
		e := c.GetAExpr()
		if e == nil || e.Kind != pg.A_Expr_Kind_AEXPR_OP || OperatorName(e.Name) != "=" {
			continue
		}
		column, value := e.Lexpr, e.Rexpr
		if column.GetColumnRef() == nil {
			column, value = value, column
		}
		fields := column.GetColumnRef().GetFields()
		if len(fields) == 0 || !IsBound(value) {
			continue
		}
		if name := fields[len(fields)-1].GetString_(); name != nil {
			p.Columns = append(p.Columns, name.Sval)
		}
	}
	if len(p.Columns) == 0 {
		return nil
	}
	return p
}
