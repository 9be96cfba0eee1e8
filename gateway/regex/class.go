package regex

import (
	"strings"
	"unicode"
)

// Classes are those of a regular expression which the locale decides of, for characters beyond ASCII: of a text with such the replica makes nothing.
type Classes struct {
	// Some says that there is one, Space that one of them is of blanks.
	Some, Space bool
}

// class is the class that an escape stands for, within ASCII.
func (p *parser) class() (set [128]bool, ok bool) {
	if !p.atAny("dDsSwW") {
		return set, false
	}
	name := p.take()
	p.classes.Some = true
	p.classes.Space = p.classes.Space || unicode.ToLower(name) == 's'
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
func (p *parser) classMember(set *[128]bool) bool {
	if len(p.in) < 2 || p.in[0] != '\\' || !strings.ContainsRune("dsw", p.in[1]) {
		return false
	}
	p.take()
	members, _ := p.class()
	for c, in := range members {
		set[c] = set[c] || in
	}
	if len(p.in) > 1 && p.in[0] == '-' && p.in[1] != ']' {
		refuse()
	}
	return true
}
