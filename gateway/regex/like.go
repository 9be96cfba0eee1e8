package regex

import (
	"strings"
	"unicode"
)

var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// AsLike is the LIKE pattern that a regular expression without operators stands for.
func AsLike(pattern string, fold bool) (string, bool) {
	rest, starts := strings.CutPrefix(pattern, "^")
	rest, ends := strings.CutSuffix(rest, "$")
	if rest == "" || strings.ContainsAny(rest, special) || fold && strings.ContainsFunc(rest, unicode.IsLetter) {
		return "", false
	}
	out := likeEscapes.Replace(rest)
	if !starts {
		out = "%" + out
	}
	if !ends {
		out += "%"
	}
	return out, true
}
