package regex

import (
	"errors"
	"strings"
)

// Replacement rewrites what matches of a pattern of [Capture] are replaced by: \1 to \9 stand for groups, \& for the match. (The engine, version 26.7, takes \\1 for one, too.)
func (p Pattern) Replacement(by string) (string, error) {
	var b strings.Builder
	for in := by; in != ""; {
		before, after, found := strings.Cut(in, `\`)
		b.WriteString(before)
		if !found {
			break
		}
		switch {
		case after == "":
			return "", errors.New("replacement that ends in a backslash")
		case after[0] == '&':
			b.WriteString(`\0`)
		case after[0] >= '1' && int(after[0]-'0') <= p.Groups:
			b.WriteString(`\` + after[:1])
		default:
			return "", errors.New("replacement of this form")
		}
		in = after[1:]
	}
	return b.String(), nil
}
