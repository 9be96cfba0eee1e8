package syntax

import (
	"regexp"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/gateway/cursor"
)

// Declared is what DECLARE … CURSOR FOR a query says.
type Declared struct {
	Name          string
	Binary, Holds bool
	// Scroll is what it says of going back: SCROLL, NO SCROLL, or nothing.
	Scroll string
	// SQL is the query's text, and Query what that is.
	SQL   string
	Query Class
}

// declaration finds the query's text. What has comments before that, or a name in another notation, is not found.
var declaration = regexp.MustCompile(`(?is)^\s*DECLARE\s+(?:"(?:[^"]|"")+"|[\pL_][\pL\d_$]*)\s+(?:[a-z]+\s+)*?CURSOR\s+(?:WITH(?:OUT)?\s+HOLD\s+)?FOR\b(.*)$`)

// declared returns what a DECLARE says, or why it is for PostgreSQL alone.
func declared(s *pg.DeclareCursorStmt, sql string) (*Declared, string) {
	const binary, scroll, noScroll, holds = 0x1, 0x2, 0x4, 0x20 // CURSOR_OPT_… in PostgreSQL's nodes/parsenodes.h
	m := declaration.FindStringSubmatch(sql)
	if m == nil {
		return nil, "a DECLARE in a notation that the gateway does not follow"
	}
	d := &Declared{Name: s.Portalname, Binary: s.Options&binary != 0, Holds: s.Options&holds != 0, SQL: m[1], Query: Classify(m[1])}
	switch {
	case s.Options&scroll != 0:
		d.Scroll = "SCROLL"
	case s.Options&noScroll != 0:
		d.Scroll = "NO SCROLL"
	}
	if !d.Query.Candidate {
		return nil, d.Query.Reason
	}
	return d, ""
}

// ParseCursor returns what a FETCH, MOVE or CLOSE says; ok is false for any other text.
func ParseCursor(sql string) (c cursor.Statement, ok bool) {
	t, err := Parse(sql)
	if err != nil || len(t.statements) != 1 {
		return cursor.Statement{}, false
	}
	switch n := t.statements[0].Stmt.GetNode().(type) {
	case *pg.Node_ClosePortalStmt:
		return cursor.Statement{Name: n.ClosePortalStmt.Portalname, Action: cursor.Close}, true
	case *pg.Node_FetchStmt:
		c = cursor.Statement{Name: n.FetchStmt.Portalname, Action: cursor.Fetch, Count: n.FetchStmt.HowMany}
		if n.FetchStmt.Ismove {
			c.Action = cursor.Move
		}
		switch n.FetchStmt.Direction {
		case pg.FetchDirection_FETCH_FORWARD:
			c.Direction = cursor.Forward
		case pg.FetchDirection_FETCH_BACKWARD:
			c.Direction = cursor.Backward
		case pg.FetchDirection_FETCH_ABSOLUTE:
			c.Direction = cursor.Absolute
		case pg.FetchDirection_FETCH_RELATIVE:
			c.Direction = cursor.Relative
		default:
			return cursor.Statement{}, false
		}
		return c, true
	}
	return cursor.Statement{}, false
}
