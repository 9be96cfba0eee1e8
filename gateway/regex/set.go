package regex

import "strings"

// bracket is a set of ASCII characters, or of all others.
func (p *parser) bracket() {
	negated := p.next('^')
	var set [128]bool
	some := false
	for !p.next(']') {
		if p.classMember(&set) {
			some = true
			continue
		}
		low := p.member(some)
		high := low
		if len(p.in) > 1 && p.in[0] == '-' && p.in[1] != ']' {
			p.take()
			high = p.member(false)
		}
		if high < low {
			refuse()
		}
		for c := low; c <= high; c++ {
			set[c] = true
			if p.fold && isASCIILetter(c) {
				set[c^0x20] = true
			}
		}
		some = true
	}
	if !some {
		refuse()
	}
	p.writeSet(set, negated)
}

// member is a character of a set. A hyphen stands for itself at the start and at the end.
func (p *parser) member(later bool) rune {
	c := p.take()
	switch {
	case c == '\\':
		return p.escaped()
	case c == '[' || c >= 0x80 || c == 0 || c == '-' && later && !p.atAny("]"):
		refuse()
	}
	return c
}

func (p *parser) writeSet(set [128]bool, negated bool) {
	// RE2 takes [Kk] for k in any case, and then also for the Kelvin sign where it makes one set of several alternatives; so it does with the
	// long s. A character that no text has keeps it from that.
	set[0] = set['K'] && set['k'] || set['S'] && set['s']
	p.out.WriteByte('[')
	if negated {
		p.out.WriteByte('^')
	}
	for c := 0; c < len(set); c++ {
		last := c
		for ; set[c] && last+1 < len(set) && set[last+1]; last++ {
		}
		if !set[c] {
			continue
		}
		p.setMember(c)
		if last > c {
			p.out.WriteByte('-')
			p.setMember(last)
		}
		c = last
	}
	p.out.WriteByte(']')
}

func (p *parser) setMember(c int) {
	if c == 0 {
		p.out.WriteString(`\x00`)
		return
	}
	if strings.IndexByte(`\[]^-`, byte(c)) >= 0 {
		p.out.WriteByte('\\')
	}
	p.out.WriteByte(byte(c))
}
