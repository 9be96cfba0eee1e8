package translate

import (
	"strconv"
	"strings"
)

// reference is a column of a relation as the engine's SQL names it.
type reference struct {
	leaf   int
	column string // quoted if its relation is a table
}

func (r reference) sql() string { return leafName(r.leaf) + "." + r.column }

// export selects the column under its qualified name: what is written outside of the subquery that does so finds it by
// the same text as inside.
func (r reference) export() string {
	name := strings.TrimSuffix(strings.TrimPrefix(r.column, "`"), "`")
	return r.sql() + " AS `" + leafName(r.leaf) + "." + name + "`"
}

// references lists the columns that an SQL text reads, in order. No other text has the form of one.
func references(sql string) []reference {
	var out []reference
	for {
		_, after, ok := strings.Cut(sql, marker+"r")
		if !ok {
			return out
		}
		number, rest, _ := strings.Cut(after, ".")
		sql = after
		leaf, err := strconv.Atoi(number)
		if err != nil {
			continue // the name of a relation by itself
		}
		column := rest[:columnEnd(rest)]
		out = append(out, reference{leaf, column})
		sql = rest[len(column):]
	}
}

// columnEnd finds the end of the column's name that a text begins with.
func columnEnd(s string) int {
	if !strings.HasPrefix(s, "`") {
		i := strings.IndexFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && string(r) != marker
		})
		if i < 0 {
			i = len(s)
		}
		return i
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '`':
			return i + 1
		}
	}
	return len(s)
}

// relations is the set of relations that an SQL text reads.
func relations(sql string) uint64 {
	var m uint64
	for _, r := range references(sql) {
		m |= bit(r.leaf)
	}
	return m
}
