package regex

import (
	"strconv"
	"strings"
	"unicode"
)

// special are the characters that do not stand for themselves.
const special = `\.*+?()|[]{}^$`

// maxRepeats bounds how often counted repetitions, one in another, repeat an atom: the engine's limit is 1000.
const maxRepeats = 200

// maxLength bounds a pattern's length in characters, and with maxRepeats the size of what the engine compiles it to.
const maxLength = 500

// parser reads a regular expression of PostgreSQL and writes it for RE2 as it goes.
type parser struct {
	in   []rune
	fold bool
	// captures says that groups can be referred to; groups counts them.
	captures bool
	groups   int
	classes  Classes
	out      strings.Builder
}

// parse writes the pattern into a group that begins with open.
func (p *parser) parse(open string) (out Pattern, err error) {
	defer func() {
		if r := recover(); r == (refusal{}) {
			err = ErrForm
		} else if r != nil {
			panic(r)
		}
	}()
	if len(p.in) > maxLength {
		refuse()
	}
	p.out.WriteString(open)
	p.alternatives()
	p.out.WriteString(")")
	if len(p.in) > 0 {
		refuse()
	}
	return Pattern{p.out.String(), p.groups, p.classes}, nil
}

// refusal is the panic that ends parse with ErrForm, from whatever depth.
type refusal struct{}

func refuse() { panic(refusal{}) }

// next takes a character if it is c.
func (p *parser) next(c rune) bool {
	if len(p.in) == 0 || p.in[0] != c {
		return false
	}
	p.in = p.in[1:]
	return true
}

// take takes any character.
func (p *parser) take() rune {
	if len(p.in) == 0 {
		refuse()
	}
	c := p.in[0]
	p.in = p.in[1:]
	return c
}

func (p *parser) atAny(set string) bool { return len(p.in) > 0 && strings.ContainsRune(set, p.in[0]) }

// part is what is known of a part of a pattern.
type part struct {
	anchored bool
	// repeats is how often an atom in it is repeated.
	repeats int
}

func (p part) and(o part) part {
	return part{p.anchored || o.anchored, max(p.repeats, o.repeats)}
}

func (p *parser) alternatives() part {
	all := p.branch()
	for p.next('|') {
		p.out.WriteByte('|')
		all = all.and(p.branch())
	}
	return all
}

func (p *parser) branch() part {
	all := part{repeats: 1}
	if p.next('^') {
		p.out.WriteByte('^')
		all.anchored = true
	}
	start := p.out.Len()
	for len(p.in) > 0 && !p.atAny("|)$") {
		all = all.and(p.piece())
	}
	empty := start == p.out.Len()
	if p.next('$') {
		p.out.WriteByte('$')
		all.anchored, empty = true, false
		if len(p.in) > 0 && !p.atAny("|)") {
			refuse()
		}
	}
	if empty && !all.anchored {
		refuse()
	}
	return all
}

// piece is an atom and its quantifier.
func (p *parser) piece() part {
	atom := part{repeats: 1}
	switch c := p.take(); c {
	case '(':
		atom = p.group()
	case '.':
		p.out.WriteByte('.')
	case '[':
		p.bracket()
	case '\\':
		if set, ok := p.class(); ok {
			p.writeSet(set, false)
			break
		}
		p.literal(p.escaped())
	case '*', '+', '?', '{', '}', ']', '^':
		refuse()
	default:
		p.literal(c)
	}
	return p.quantifier(atom)
}

func (p *parser) group() part {
	plain := p.next('?')
	if plain && !p.next(':') {
		refuse()
	}
	if plain || !p.captures {
		p.out.WriteString("(?:")
	} else {
		p.groups++
		p.out.WriteByte('(')
	}
	inner := p.alternatives()
	if !p.next(')') {
		refuse()
	}
	p.out.WriteByte(')')
	return inner
}

// escaped is the character that stands after a backslash: letters and digits have meanings of their own there.
func (p *parser) escaped() rune {
	switch c := p.take(); {
	case c == 'n':
		return '\n'
	case c == 't':
		return '\t'
	case c == 'r':
		return '\r'
	case c < 0x80 && (unicode.IsPunct(c) || unicode.IsSymbol(c) || c == ' '):
		return c
	}
	refuse()
	return 0
}

// literal writes a character that stands for itself.
func (p *parser) literal(c rune) {
	switch {
	case p.fold && isASCIILetter(c):
		var both [128]bool
		both[c], both[c^0x20] = true, true
		p.writeSet(both, false)
	case strings.ContainsRune(special, c):
		p.out.WriteString(`\` + string(c))
	case c >= 0x80:
		// In a group: the engine's optimiser may take the last byte for what a quantifier stands after.
		p.out.WriteString("(?:" + string(c) + ")")
	default:
		p.out.WriteRune(c)
	}
}

func isASCIILetter(c rune) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// quantifier writes how often the atom before it is repeated. Whether as often or as seldom as possible makes no difference to whether there is a match.
func (p *parser) quantifier(atom part) part {
	if !p.atAny("*+?{") {
		return atom
	}
	if atom.anchored {
		refuse()
	}
	if c := p.take(); c == '{' {
		atom.repeats *= p.bound()
	} else {
		p.out.WriteRune(c)
	}
	if p.next('?') && p.captures {
		refuse()
	}
	if p.atAny("*+?{") || atom.repeats > maxRepeats {
		refuse()
	}
	return atom
}

// bound is {m}, {m,} or {m,n}; it returns the larger of its numbers.
func (p *parser) bound() int {
	low := p.number()
	high := low
	text := strconv.Itoa(low)
	if p.next(',') {
		text += ","
		if !p.atAny("}") {
			high = p.number()
			text += strconv.Itoa(high)
		}
	}
	if !p.next('}') || high < low || high == 0 {
		refuse()
	}
	p.out.WriteString("{" + text + "}")
	return max(high, 1)
}

func (p *parser) number() int {
	n, digits := 0, 0
	for ; p.atAny("0123456789") && digits < 3; digits++ {
		n = 10*n + int(p.take()-'0')
	}
	if digits == 0 {
		refuse()
	}
	return n
}
