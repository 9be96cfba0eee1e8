package translate

import (
	"strconv"
	"strings"
	"unicode"
)

// matchRegex translates a match with a constant regular expression.
func (q *query) matchRegex(by matcher, x, p expr) expr {
	if x.isNull() || p.isNull() {
		return nullOf(oidBool)
	}
	if x.isUnknown() {
		x = resolveUnknown(x)
	}
	pattern, ok := p.constantText()
	switch {
	case !ok:
		fail("regular expression that is not a constant")
	case !isString(x.oid) || x.opaque:
		fail("regular expression over this type")
	}
	if by.similar {
		pattern = similarPattern(pattern)
	}
	q.t.requireLetters(pattern, by.fold, x.collation)
	text, classes := rewriteRegex(pattern, by.fold)
	sql := "match(" + classes.guard(withBlanks(x)) + ", " + quote(text) + ")"
	if text, ok := regexAsLike(pattern, by.fold); ok {
		sql = withBlanks(x) + " LIKE " + quote(text)
	}
	if by.negated {
		sql = "NOT (" + sql + ")"
	}
	e := with(oidBool, sql, x)
	e.costly, e.lenient = true, by.negated
	return e
}

// requireLetters refuses a pattern under a collation that is not known, or, where it ignores case, whose letters may have other cases than ASCII's. PostgreSQL
// looks for both cases of the pattern's letters, which for ASCII letters are ASCII letters, too, but for i and I under some collations; the database's own is none there.
func (t *translator) requireLetters(pattern string, fold bool, c collation) {
	if c.name == unknownCollation { // PostgreSQL refuses to choose
		fail("regular expression under a collation that is not known")
	}
	if !fold {
		return
	}
	if !isASCII(pattern) {
		fail("regular expression beyond ASCII that ignores case")
	}
	if strings.ContainsAny(pattern, "iI[") && !c.isDefault() && !t.asciiCase(c) {
		fail("regular expression that ignores case under this collation")
	}
}

const regexSpecial = `\.*+?()|[]{}^$`

var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// regexAsLike is the LIKE pattern that a regular expression without operators stands for.
func regexAsLike(pattern string, fold bool) (string, bool) {
	rest, starts := strings.CutPrefix(pattern, "^")
	rest, ends := strings.CutSuffix(rest, "$")
	if rest == "" || strings.ContainsAny(rest, regexSpecial) || fold && strings.ContainsFunc(rest, unicode.IsLetter) {
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

// maxRepeats bounds how often counted repetitions, one in another, repeat an atom: the engine's limit is 1000.
const maxRepeats = 200

// maxRegex bounds a pattern's length, and with maxRepeats the size of what the engine compiles it to.
const maxRegex = 500

// regex rewrites a regular expression of PostgreSQL for the engine's RE2. Invariant: what is not in the subset in which both
// agree on whether there is a match is refused. In that subset they differ in the syntax of groups only: both take ^ and $ for the
// ends of the text, and a newline for a character like others.
type regex struct {
	in   []rune
	fold bool
	// captures says that groups can be referred to; groups counts them.
	captures bool
	groups   int
	classes  classes
	out      strings.Builder
}

// rewriteRegex returns a pattern for the engine's match function.
func rewriteRegex(pattern string, fold bool) (string, classes) {
	r := regex{in: []rune(pattern), fold: fold}
	// In a group: of a pattern that starts with ^ the engine derives a range of the key, in which it overlooks alternatives.
	text := r.rewrite("(?:")
	return text, r.classes
}

// rewrite writes the pattern into a group that begins with open.
func (r *regex) rewrite(open string) string {
	if len(r.in) > maxRegex {
		refuseRegex()
	}
	r.out.WriteString(open)
	r.alternatives()
	r.out.WriteString(")")
	if len(r.in) > 0 {
		refuseRegex()
	}
	return r.out.String()
}

func refuseRegex() { fail("regular expression of this form") }

// next takes a character if it is c.
func (r *regex) next(c rune) bool {
	if len(r.in) == 0 || r.in[0] != c {
		return false
	}
	r.in = r.in[1:]
	return true
}

// take takes any character.
func (r *regex) take() rune {
	if len(r.in) == 0 {
		refuseRegex()
	}
	c := r.in[0]
	r.in = r.in[1:]
	return c
}

func (r *regex) atAny(set string) bool { return len(r.in) > 0 && strings.ContainsRune(set, r.in[0]) }

// part is what is known of a part of a pattern.
type part struct {
	anchored bool
	// repeats is how often an atom in it is repeated.
	repeats int
}

func (p part) and(o part) part {
	return part{p.anchored || o.anchored, max(p.repeats, o.repeats)}
}

func (r *regex) alternatives() part {
	all := r.branch()
	for r.next('|') {
		r.out.WriteByte('|')
		all = all.and(r.branch())
	}
	return all
}

func (r *regex) branch() part {
	p := part{repeats: 1}
	if r.next('^') {
		r.out.WriteByte('^')
		p.anchored = true
	}
	start := r.out.Len()
	for len(r.in) > 0 && !r.atAny("|)$") {
		p = p.and(r.piece())
	}
	empty := start == r.out.Len()
	if r.next('$') {
		r.out.WriteByte('$')
		p.anchored, empty = true, false
		if len(r.in) > 0 && !r.atAny("|)") {
			refuseRegex()
		}
	}
	if empty && !p.anchored {
		refuseRegex()
	}
	return p
}

// piece is an atom and its quantifier.
func (r *regex) piece() part {
	p := part{repeats: 1}
	switch c := r.take(); c {
	case '(':
		p = r.group()
	case '.':
		r.out.WriteByte('.')
	case '[':
		r.bracket()
	case '\\':
		if set, ok := r.class(); ok {
			r.writeSet(set, false)
			break
		}
		r.literal(r.escaped())
	case '*', '+', '?', '{', '}', ']', '^':
		refuseRegex()
	default:
		r.literal(c)
	}
	return r.quantifier(p)
}

func (r *regex) group() part {
	plain := r.next('?')
	if plain && !r.next(':') {
		refuseRegex()
	}
	if plain || !r.captures {
		r.out.WriteString("(?:")
	} else {
		r.groups++
		r.out.WriteByte('(')
	}
	p := r.alternatives()
	if !r.next(')') {
		refuseRegex()
	}
	r.out.WriteByte(')')
	return p
}

// escaped is the character that stands after a backslash: letters and digits have meanings of their own there.
func (r *regex) escaped() rune {
	switch c := r.take(); {
	case c == 'n':
		return '\n'
	case c == 't':
		return '\t'
	case c == 'r':
		return '\r'
	case c < 0x80 && (unicode.IsPunct(c) || unicode.IsSymbol(c) || c == ' '):
		return c
	}
	refuseRegex()
	return 0
}

// literal writes a character that stands for itself.
func (r *regex) literal(c rune) {
	switch {
	case r.fold && isASCIILetter(c):
		var both [128]bool
		both[c], both[c^0x20] = true, true
		r.writeSet(both, false)
	case strings.ContainsRune(regexSpecial, c):
		r.out.WriteString(`\` + string(c))
	case c >= 0x80:
		// In a group: the engine's optimiser may take the last byte for what a quantifier stands after.
		r.out.WriteString("(?:" + string(c) + ")")
	default:
		r.out.WriteRune(c)
	}
}

func isASCIILetter(c rune) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// quantifier writes how often the atom before it is repeated. Whether as often or as seldom as possible makes no difference to whether there is a match.
func (r *regex) quantifier(p part) part {
	if !r.atAny("*+?{") {
		return p
	}
	if p.anchored {
		refuseRegex()
	}
	if c := r.take(); c == '{' {
		p.repeats *= r.bound()
	} else {
		r.out.WriteRune(c)
	}
	if r.next('?') && r.captures {
		refuseRegex()
	}
	if r.atAny("*+?{") || p.repeats > maxRepeats {
		refuseRegex()
	}
	return p
}

// bound is {m}, {m,} or {m,n}; it returns the larger of its numbers.
func (r *regex) bound() int {
	low := r.number()
	high := low
	text := strconv.Itoa(low)
	if r.next(',') {
		text += ","
		if !r.atAny("}") {
			high = r.number()
			text += strconv.Itoa(high)
		}
	}
	if !r.next('}') || high < low || high == 0 {
		refuseRegex()
	}
	r.out.WriteString("{" + text + "}")
	return max(high, 1)
}

func (r *regex) number() int {
	n, digits := 0, 0
	for ; r.atAny("0123456789") && digits < 3; digits++ {
		n = 10*n + int(r.take()-'0')
	}
	if digits == 0 {
		refuseRegex()
	}
	return n
}

// bracket is a set of ASCII characters, or of all others.
func (r *regex) bracket() {
	negated := r.next('^')
	var set [128]bool
	some := false
	for !r.next(']') {
		if r.classMember(&set) {
			some = true
			continue
		}
		low := r.member(some)
		high := low
		if len(r.in) > 1 && r.in[0] == '-' && r.in[1] != ']' {
			r.take()
			high = r.member(false)
		}
		if high < low {
			refuseRegex()
		}
		for c := low; c <= high; c++ {
			set[c] = true
			if r.fold && isASCIILetter(c) {
				set[c^0x20] = true
			}
		}
		some = true
	}
	if !some {
		refuseRegex()
	}
	r.writeSet(set, negated)
}

// member is a character of a set. A hyphen stands for itself at the start and at the end.
func (r *regex) member(later bool) rune {
	c := r.take()
	switch {
	case c == '\\':
		return r.escaped()
	case c == '[' || c >= 0x80 || c == 0 || c == '-' && later && !r.atAny("]"):
		refuseRegex()
	}
	return c
}

func (r *regex) writeSet(set [128]bool, negated bool) {
	// RE2 takes [Kk] for k in any case, and then also for the Kelvin sign where it makes one set of several alternatives; so it does with the
	// long s. A character that no text has keeps it from that.
	set[0] = set['K'] && set['k'] || set['S'] && set['s']
	r.out.WriteByte('[')
	if negated {
		r.out.WriteByte('^')
	}
	for c := 0; c < len(set); c++ {
		last := c
		for ; set[c] && last+1 < len(set) && set[last+1]; last++ {
		}
		if !set[c] {
			continue
		}
		r.setMember(c)
		if last > c {
			r.out.WriteByte('-')
			r.setMember(last)
		}
		c = last
	}
	r.out.WriteByte(']')
}

func (r *regex) setMember(c int) {
	if c == 0 {
		r.out.WriteString(`\x00`)
		return
	}
	if strings.IndexByte(`\[]^-`, byte(c)) >= 0 {
		r.out.WriteByte('\\')
	}
	r.out.WriteByte(byte(c))
}
