package regex

import (
	"errors"
	"strings"
	"unicode"
)

// Similar is the regular expression that PostgreSQL makes of a pattern of SIMILAR TO.
func Similar(s string) (string, error) {
	var b strings.Builder
	b.WriteString("^(?:")
	inSet := false
	for in := []rune(s); len(in) > 0; in = in[1:] {
		c := in[0]
		switch {
		case c == '\\':
			if len(in) == 1 || in[1] >= 0x80 || in[1] == '"' || !unicode.IsPunct(in[1]) && !unicode.IsSymbol(in[1]) {
				return "", errors.New("SIMILAR TO with this escape")
			}
			in = in[1:]
			b.WriteString(`\` + string(in[0]))
		case inSet:
			b.WriteRune(c)
			inSet = c != ']'
		case c == '[':
			b.WriteByte('[')
			inSet = true
		case c == '%':
			b.WriteString(".*")
		case c == '_':
			b.WriteByte('.')
		case c == '(':
			b.WriteString("(?:")
		case c == '.' || c == '^' || c == '$':
			b.WriteString(`\` + string(c))
		default:
			b.WriteRune(c)
		}
	}
	b.WriteString(")$")
	return b.String(), nil
}
