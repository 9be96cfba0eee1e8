package translate

import (
	"fmt"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Tree is a parsed SQL text: the statements of one simple query or one Parse message.
// It is immutable and may be shared between goroutines.
type Tree struct {
	statements []*pg.RawStmt
}

// Parse parses sql with PostgreSQL's grammar. The error of a text that the grammar
// does not know is PostgreSQL's; such a text is to be relayed, since the server may be newer than the grammar.
func Parse(sql string) (*Tree, error) {
	result, err := parse(sql)
	if err != nil {
		return nil, fmt.Errorf("parse statement: %w", err)
	}
	return &Tree{statements: result.GetStmts()}, nil
}

// Len returns the number of statements.
func (t *Tree) Len() int { return len(t.statements) }
