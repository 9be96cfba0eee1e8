package sqlshape

import (
	"hash/maphash"
	"strings"
)

// Hasher hashes shapes with one seed.
type Hasher struct{ seed maphash.Seed }

// NewHasher returns a hasher with a random seed.
func NewHasher() Hasher { return Hasher{maphash.MakeSeed()} }

// Hash returns the hash of sql's shape. It allocates nothing.
func (h Hasher) Hash(sql string) uint64 {
	var m maphash.Hash
	m.SetSeed(h.seed)
	from := 0 // start of the text that is not yet hashed
	for i := 0; i < len(sql); {
		literal, end := token(sql, i)
		if !literal {
			i = end
			continue
		}
		_, _ = m.WriteString(sql[from:i])
		_ = m.WriteByte(0) // which no statement contains, unlike ?, a letter of operators
		i, from = end, end
	}
	_, _ = m.WriteString(sql[from:])
	return m.Sum64()
}

// token returns the end of the token that begins at i, and whether it is a literal.
// An unterminated token ends with the text and is not a literal.
func token(sql string, i int) (literal bool, end int) {
	c := sql[i]
	switch {
	case c == '\'':
		return terminated(sql, quoted(sql, i, false))
	case (c == 'e' || c == 'E') && next(sql, i) == '\'':
		end := quoted(sql, i+1, true)
		for end > 0 {
			at := continued(sql, end)
			if at < 0 {
				break
			}
			end = quoted(sql, at, true)
		}
		return terminated(sql, end)
	case isIdentStart(c):
		return false, wordEnd(sql, i)
	case isDigit(c), c == '.' && isDigit(next(sql, i)):
		return true, numberEnd(sql, i)
	case c == '"':
		if e := quotedBy(sql, i, '"'); e > 0 {
			return false, e
		}
		return false, len(sql)
	case c == '$':
		return dollar(sql, i)
	case c == '-' && next(sql, i) == '-':
		if n := strings.IndexAny(sql[i:], "\n\r"); n >= 0 {
			return false, i + n
		}
		return false, len(sql)
	case c == '/' && next(sql, i) == '*':
		return false, commentEnd(sql, i)
	}
	return false, i + 1
}

// continued returns where a constant that ended at i goes on, under its own rules: at a quote after blanks and comments to the end of a
// line, with a newline among them. It is -1 where it does not.
func continued(sql string, i int) int {
	lines := 0
	for ; i < len(sql); i++ {
		switch c := sql[i]; {
		case c == '\n', c == '\r':
			lines++
		case c == ' ', c == '\t', c == '\f', c == '\v':
		case c == '-' && next(sql, i) == '-':
			i += strings.IndexAny(sql[i:]+"\n", "\r\n") - 1
		case c == '\'' && lines > 0:
			return i
		default:
			return -1
		}
	}
	return -1
}

func terminated(sql string, end int) (literal bool, at int) {
	if end < 0 {
		return false, len(sql)
	}
	return true, end
}

// quoted returns the end of the string literal whose quote is at i, or -1. Without an E prefix a backslash is taken as an
// ordinary character; standard_conforming_strings=off makes it an escape, but then session state relays the statement.
func quoted(sql string, i int, escapes bool) int {
	for j := i + 1; j < len(sql); j++ {
		switch {
		case escapes && sql[j] == '\\':
			j++
		case sql[j] == '\'' && next(sql, j) == '\'':
			j++
		case sql[j] == '\'':
			return j + 1
		}
	}
	return -1
}

func quotedBy(sql string, i int, q byte) int {
	for j := i + 1; j < len(sql); j++ {
		if sql[j] == q {
			if next(sql, j) != q {
				return j + 1
			}
			j++
		}
	}
	return -1
}

// dollar handles $1 parameters, which belong to the shape, and $tag$…$tag$ literals.
func dollar(sql string, i int) (literal bool, end int) {
	if isDigit(next(sql, i)) {
		j := i + 1
		for j < len(sql) && isDigit(sql[j]) {
			j++
		}
		return false, j
	}
	j := i + 1
	for j < len(sql) && sql[j] != '$' && isIdentPart(sql[j]) {
		j++
	}
	if j >= len(sql) || sql[j] != '$' {
		return false, i + 1
	}
	tag := sql[i : j+1]
	if n := strings.Index(sql[j+1:], tag); n >= 0 {
		return true, j + 1 + n + len(tag)
	}
	return false, len(sql)
}

func commentEnd(sql string, i int) int {
	depth := 0
	for j := i; j < len(sql); j++ {
		switch {
		case sql[j] == '/' && next(sql, j) == '*':
			depth++
			j++
		case sql[j] == '*' && next(sql, j) == '/':
			depth--
			j++
			if depth == 0 {
				return j + 1
			}
		}
	}
	return len(sql)
}

// wordEnd keeps prefixes of string constants (U&'…', B'…', X'…', N'…') out of the literals: they are rare, and part of the shape.
func wordEnd(sql string, i int) int {
	j := i + 1
	for j < len(sql) && isIdentPart(sql[j]) {
		j++
	}
	if j-i == 1 && j < len(sql) && strings.IndexByte("uUbBxXnN", sql[i]) >= 0 {
		k := j
		if sql[k] == '&' {
			k++
		}
		if k < len(sql) && sql[k] == '\'' {
			if e := quoted(sql, k, false); e > 0 {
				return e
			}
			return len(sql)
		}
	}
	return j
}

func numberEnd(sql string, i int) int {
	j := i
	for j < len(sql) && (isIdentPart(sql[j]) || sql[j] == '.' ||
		(sql[j] == '-' || sql[j] == '+') && (sql[j-1] == 'e' || sql[j-1] == 'E') && j > i && isDigit(next(sql, j))) {
		j++
	}
	return j
}

func next(sql string, i int) byte {
	if i+1 < len(sql) {
		return sql[i+1]
	}
	return 0
}

func isDigit(c byte) bool      { return c >= '0' && c <= '9' }
func isIdentStart(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }
func isIdentPart(c byte) bool  { return isIdentStart(c) || isDigit(c) || c == '$' }
