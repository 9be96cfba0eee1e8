// Package document is the form in which a replica has jsonb documents.
//
// A jsonb is a tree in PostgreSQL, which finds a key without reading what is before it. The engine has texts: to find a
// key by parsing one costs more than all else that a report does. So a document is written such that a search for a
// key's text finds that key and no other, and the end of its value by counting quotes, brackets and braces:
//   - A key of the document itself is written as "key":, without the blank that PostgreSQL writes behind the colon, and
//     one of an object within it as "key" :, with one more blank for each further object or array around it.
//   - What would look like any of that in a string is written as the number of its character, as in \u005b for a bracket.
//
// It is the same document to whoever parses it.
package document

import (
	"bytes"
	"errors"
	"slices"
)

// Depth is how many keys a search can go by, one into the object that the last one found: keys that are deeper in a
// document than that are all written alike.
const Depth = 64

const blanks = "                                                                "

// ErrForm is of a text that is not a document as PostgreSQL writes it.
var ErrForm = errors.New("not a json document in PostgreSQL's form")

// An escape is how something in strings is stored that PostgreSQL writes otherwise. PostgreSQL has no such numbers: it
// writes those of control characters only.
type escape struct{ written, stored string }

const (
	storedBracket   = `\u005b`
	storedBrace     = `\u007b`
	storedColon     = `\u003a`
	storedQuote     = `\u0022`
	storedBackslash = `\u005c`
)

// The backslash's is the last to be undone, since all begin with one.
var escapes = [...]escape{{"[", storedBracket}, {"{", storedBrace}, {":", storedColon}, {`\"`, storedQuote}, {`\\`, storedBackslash}}

// Escapes calls a function with each text that strings have in another form in a stored document, and that form, in an
// order in which replacing one after the other gives what PostgreSQL writes.
func Escapes(yield func(stored, written string) bool) {
	for _, e := range escapes {
		if !yield(e.stored, e.written) {
			return
		}
	}
}

// Key returns how a key without quotes, backslashes and control characters is written between its quotes.
func Key(key string) string {
	w := writer{text: append([]byte(key), '"')}
	w.string(0)
	return string(w.dst[:len(w.dst)-1])
}

// Append appends the stored form of a document, given as PostgreSQL writes it. Of other texts that is [ErrForm].
func Append(dst, text []byte) ([]byte, error) {
	w := writer{dst: dst, text: text}
	if len(text) == 0 || !w.write() {
		return dst, ErrForm
	}
	return w.dst, nil
}

type writer struct {
	dst, text []byte
	depth     int // how many objects and arrays are open
}

// write reports whether the document could be written.
func (w *writer) write() bool {
	for i := 0; i < len(w.text); i++ {
		c := w.text[i]
		switch c {
		case '"':
			w.dst = append(w.dst, c)
			end := w.string(i + 1)
			if end < 0 {
				return false
			}
			i = end
			continue
		case '{', '[':
			w.depth++
		case '}', ']':
			w.depth--
		case ':':
			if w.depth < 1 || i == 0 || w.text[i-1] != '"' || !w.blankAt(i+1) {
				return false
			}
			w.dst = append(w.dst, blanks[:min(w.depth-1, Depth)]...)
			i++ // the blank
		case ',':
			if !w.blankAt(i + 1) {
				return false
			}
			w.dst = append(w.dst, ',')
			c = ' '
			i++
		case ' ', '\t', '\n', '\r':
			return false
		}
		w.dst = append(w.dst, c)
	}
	return w.depth == 0
}

func (w *writer) blankAt(i int) bool { return i < len(w.text) && w.text[i] == ' ' }

// string writes a string from its first character to its last quote and returns where that is; negative: it has none, or
// what no string of PostgreSQL's has.
func (w *writer) string(start int) int {
	for i := start; i < len(w.text); i++ {
		c := w.text[i]
		switch c {
		case '"':
			w.dst = append(w.dst, c)
			return i
		case '[':
			w.dst = append(w.dst, storedBracket...)
			continue
		case '{':
			w.dst = append(w.dst, storedBrace...)
			continue
		case ':':
			// Alone between a quote and blanks it would end a key.
			if i == start || w.text[i-1] == ' ' {
				w.dst = append(w.dst, storedColon...)
				continue
			}
		case '\\':
			rest := w.text[i:]
			if len(rest) < 2 || slices.ContainsFunc(escapes[:], func(e escape) bool { return bytes.HasPrefix(rest, []byte(e.stored)) }) {
				return -1
			}
			i++
			switch rest[1] {
			case '"':
				w.dst = append(w.dst, storedQuote...)
			case '\\':
				w.dst = append(w.dst, storedBackslash...)
			default:
				w.dst = append(w.dst, rest[:2]...)
			}
			continue
		}
		w.dst = append(w.dst, c)
	}
	return -1
}

// AppendText appends a document, or a value within one, as PostgreSQL writes it, given its stored form.
func AppendText(dst, stored []byte) []byte {
	for len(stored) > 0 {
		i := bytes.IndexAny(stored, `": `)
		if i < 0 {
			break
		}
		dst = append(dst, stored[:i]...)
		switch stored[i] {
		case '"':
			n := bytes.IndexByte(stored[i+1:], '"') + 1 // no string has one within
			dst, stored = append(appendUnescaped(append(dst, '"'), stored[i+1:i+n]), '"'), stored[i+n+1:]
			continue
		case ':':
			dst = append(dst, ": "...)
		case ' ':
			if i > 0 && stored[i-1] == ',' {
				dst = append(dst, ' ')
			}
		}
		stored = stored[i+1:]
	}
	return append(dst, stored...)
}

func appendUnescaped(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst, s = append(dst, s[:i]...), s[i:]
		as, n := s[:min(2, len(s))], 2
		for _, e := range escapes {
			if bytes.HasPrefix(s, []byte(e.stored)) {
				as, n = []byte(e.written), len(e.stored)
			}
		}
		dst, s = append(dst, as...), s[min(n, len(s)):]
	}
}
