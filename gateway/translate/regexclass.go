package translate

import (
	"strings"
	"unicode"
)

// classes are those of a regular expression which the locale decides of, for characters beyond ASCII: of a text with such the replica makes nothing.
type classes struct{ some, space bool }

// class is the class that an escape stands for, within ASCII.
func (r *regex) class() (set [128]bool, ok bool) {
	if !r.atAny("dDsSwW") {
		return set, false
	}
	name := r.take()
	r.classes.some = true
	r.classes.space = r.classes.space || unicode.ToLower(name) == 's'
	for c := range rune(len(set)) {
		in := false
		switch unicode.ToLower(name) {
		case 'd':
			in = unicode.IsDigit(c)
		case 's':
			in = unicode.IsSpace(c)
		case 'w':
			in = unicode.IsDigit(c) || isASCIILetter(c) || c == '_'
		}
		set[c] = in != unicode.IsUpper(name)
	}
	set[0] = false // which is in no text
	return set, true
}

// classMember adds a class to a set, if one comes next. It cannot be an end of a range.
func (r *regex) classMember(set *[128]bool) bool {
	if len(r.in) < 2 || r.in[0] != '\\' || !strings.ContainsRune("dsw", r.in[1]) {
		return false
	}
	r.take()
	members, _ := r.class()
	for c, in := range members {
		set[c] = set[c] || in
	}
	if len(r.in) > 1 && r.in[0] == '-' && r.in[1] != ']' {
		refuseRegex()
	}
	return true
}

// guard is the text in which the classes are looked for. ICU takes the separators 28 to 31 for blanks, too.
func (c classes) guard(sql string) string {
	switch {
	case c.space:
		return once(sql, func(x string) string {
			return guarded(x, "match("+x+", "+quote(`[^\x00-\x1b\x20-\x7f]`)+")", "text beyond ASCII")
		})
	case c.some:
		return once(sql, asciiOnly)
	}
	return sql
}
