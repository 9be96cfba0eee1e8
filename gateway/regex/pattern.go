package regex

import "errors"

// ErrForm is the error of a regular expression that may match other texts, or other parts of them, in the engine.
var ErrForm = errors.New("regular expression of this form")

// Pattern is a regular expression for the engine.
type Pattern struct {
	// Text is in RE2's syntax.
	Text string
	// Groups counts the groups that can be referred to: none but in what Capture returns.
	Groups  int
	Classes Classes
}

// Match rewrites a pattern for the engine's match function; fold: it ignores the case of ASCII letters. The error is [ErrForm].
func Match(pattern string, fold bool) (Pattern, error) {
	p := parser{in: []rune(pattern), fold: fold}
	// In a group: of a pattern that starts with ^ the engine derives a range of the key, in which it overlooks alternatives.
	return p.parse("(?:")
}

// Capture rewrites a pattern for the engine's functions that replace or extract what it matches, or its groups do. The error is [ErrForm].
func Capture(pattern string, fold bool) (Pattern, error) {
	p := parser{in: []rune(pattern), fold: fold, captures: true}
	out, err := p.parse("(?s:") // there, a newline would not be a character like others
	if err == nil && !matchesAlike(out.Text) {
		err = ErrForm
	}
	return out, err
}
