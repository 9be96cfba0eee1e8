package syntax

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Tree is a parsed SQL text: the statements of one simple query or one Parse message.
// It is immutable and may be shared between goroutines.
type Tree struct {
	statements []*pg.RawStmt
}

// Query is the statement, if there is a single one and it is a query; nil otherwise. Nobody may change it.
func (t *Tree) Query() *pg.SelectStmt {
	if len(t.statements) != 1 {
		return nil
	}
	return t.statements[0].Stmt.GetSelectStmt()
}

// Walk calls visit for all nodes of the statements as [Walk] does.
func (t *Tree) Walk(visit func(*pg.Node) bool) {
	for _, s := range t.statements {
		Walk(s.Stmt, visit)
	}
}

// Parse parses sql with PostgreSQL's grammar. The error of a text that the grammar
// does not know is PostgreSQL's; such a text is to be relayed, since the server may be newer than the grammar.
func Parse(sql string) (*Tree, error) {
	if nests(sql) {
		return nil, errNests
	}
	result, err := parse(sql)
	if err != nil {
		return nil, fmt.Errorf("parse statement: %w", err)
	}
	return &Tree{statements: result.GetStmts()}, nil
}

var errNests = errors.New("parse statement: it may nest too deeply")

// nests reports whether the text may nest deeper than the parser's stack: each level takes a word or an operator, and those that take most of the stack a
// bracket. It does not tell what is in a string constant.
func nests(sql string) bool {
	if len(sql) <= mostBrackets {
		return false
	}
	levels, brackets, deepest, inWord := 0, 0, 0, false
	for _, c := range sql {
		switch {
		case unicode.IsLetter(c) || c == '_' || c == '"':
			if !inWord {
				levels++
			}
			inWord = true
			continue
		case c == '.' || c >= '0' && c <= '9': // goes on with a word, or is a number
			continue
		case c == '(':
			brackets++
			deepest = max(deepest, brackets)
		case c == ')':
			brackets--
		case c > ' ' && !strings.ContainsRune(",;'$", c):
			levels++
		}
		inWord = false
	}
	return levels > mostLevels || deepest > mostBrackets
}
