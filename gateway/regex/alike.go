package regex

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// step is what a pattern matches next: one character of a set, or some repetitions of what begins with one.
type step struct {
	set      runes
	nullable bool
	repeated bool
	// run tells steps apart between which a group begins or ends.
	run int
}

// matchesAlike reports whether PostgreSQL and the engine match the same part of any text by a pattern, and the same parts by its groups.
// PostgreSQL takes the longest match, and for what stands first as much of that as it can; the engine, as Perl, takes as much
// as it can for each repetition in turn. Both begin where the first match does. The rest is the same where no repetition has a choice,
// since it cannot go on with what comes next, and where a single one has and all that comes next has a fixed length; up to the bounds of
// a group is enough where the match ends with the text, for PostgreSQL makes all of that together as long as it can.
func matchesAlike(pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return false
	}
	var f flattened
	if !f.add(re) || !slices.ContainsFunc(f.steps, func(s step) bool { return !s.nullable }) {
		return false
	}
	choices := 0
	for i, s := range f.steps {
		if !s.repeated || !follows(f.steps[i+1:]).intersects(s.set) {
			continue
		}
		choices++
		if slices.ContainsFunc(f.steps[i+1:], func(next step) bool { return next.repeated && (next.run == s.run || !f.ends) }) {
			return false
		}
	}
	return choices == 0 || choices == 1 && !f.nested
}

// follows are the characters that some of the steps may begin with.
func follows(steps []step) runes {
	var set runes
	for _, s := range steps {
		set = append(set, s.set...)
		if !s.nullable {
			break
		}
	}
	return set
}

// flattened is a pattern as a sequence of steps.
type flattened struct {
	steps []step
	// starts and ends say that it matches at the ends of a text only.
	starts, ends bool
	// nested says that there is a group in a group.
	nested bool
	run    int
}

// add appends a pattern's steps; false where it is none that is understood.
func (f *flattened) add(re *syntax.Regexp) bool {
	one := func(set runes) { f.steps = append(f.steps, step{set: set, run: f.run}) }
	switch re.Op {
	case syntax.OpBeginText:
		f.starts = true
		return len(f.steps) == 0
	case syntax.OpEndText:
		f.ends = true
	case syntax.OpLiteral:
		for _, c := range re.Rune {
			set := runes{c, c}
			if re.Flags&syntax.FoldCase != 0 {
				for other := unicode.SimpleFold(c); other != c; other = unicode.SimpleFold(other) {
					set = append(set, other, other)
				}
			}
			one(set)
		}
	case syntax.OpCharClass:
		one(re.Rune)
	case syntax.OpAnyChar:
		one(runes{0, utf8.MaxRune})
	case syntax.OpCapture:
		f.nested = f.nested || re.Sub[0].MaxCap() > 0
		f.run++
		defer func() { f.run++ }()
		return !f.ends && f.add(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if f.ends || !f.add(sub) {
				return false
			}
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		var inner flattened
		if re.Flags&syntax.NonGreedy != 0 || re.MaxCap() > 0 || !inner.add(re.Sub[0]) || inner.starts || inner.ends || len(inner.steps) == 0 {
			return false
		}
		if slices.ContainsFunc(inner.steps, func(s step) bool { return s.repeated }) {
			return false
		}
		nullable := re.Op == syntax.OpStar || re.Op == syntax.OpQuest || re.Op == syntax.OpRepeat && re.Min == 0
		counted := re.Op == syntax.OpRepeat && re.Min == re.Max
		f.steps = append(f.steps, step{set: inner.steps[0].set, nullable: nullable, repeated: !counted, run: f.run})
	default:
		return false
	}
	return true
}

// runes are pairs of the first and the last character of a range.
type runes []rune

func (r runes) intersects(o runes) bool {
	for i := 0; i < len(r); i += 2 {
		for j := 0; j < len(o); j += 2 {
			if r[i] <= o[j+1] && o[j] <= r[i+1] {
				return true
			}
		}
	}
	return false
}
