// Package document is the form in which a replica has jsonb documents.
//
// A jsonb is a tree in PostgreSQL, which finds a key without reading what is before it. The engine has texts: to find a
// key by parsing one costs more than all else that a report does. So a document is written such that a search for a
// key's text finds that key and no other: a key of the document itself as "key":, without the blank that PostgreSQL
// writes behind the colon, and one of an object within it as "key" :, with one more blank for each further object
// around it. It is the same document to whoever parses it.
//
// What is written so starts with a blank, and with two if more than the values of the document's own keys has to be
// parsed, because strings have characters in them that look like what is around strings. All other documents are as
// PostgreSQL writes them: those that are no objects, with a key that is written with a backslash, or whose blanks are
// elsewhere than PostgreSQL's.
package document

import "bytes"

// maxDepth is how many objects may be in one another. With each of them its keys get longer.
const maxDepth = 16

const blanks = "                "

// Append appends the stored form of a document, given as PostgreSQL writes it.
func Append(dst, text []byte) []byte {
	w := writer{dst: append(dst, ' '), text: text, simple: true}
	if !w.write() {
		return append(dst, text...)
	}
	if !w.simple {
		w.dst = append(w.dst, 0)
		copy(w.dst[len(dst)+1:], w.dst[len(dst):])
	}
	return w.dst
}

type writer struct {
	dst, text []byte
	depth     int  // how many objects are open
	escaped   bool // the last string has a backslash
	simple    bool // nothing in a string looks like what is around strings
}

// write reports whether the document could be written.
func (w *writer) write() bool {
	if len(w.text) == 0 || w.text[0] != '{' {
		return false
	}
	for i := 0; i < len(w.text); i++ {
		c := w.text[i]
		switch c {
		case '"':
			end := w.stringAt(i)
			if end < 0 {
				return false
			}
			w.dst = append(w.dst, w.text[i:end]...)
			i = end - 1
			continue
		case '{':
			if w.depth++; w.depth > maxDepth {
				return false
			}
		case '}':
			w.depth--
		case ':':
			if w.escaped || w.depth < 1 || w.text[i-1] != '"' || !w.blankAt(i+1) {
				return false
			}
			w.dst = append(w.dst, blanks[:w.depth-1]...)
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

// stringAt returns where the string ends that starts at a position; negative: it does not end.
func (w *writer) stringAt(start int) int {
	w.escaped = false
	for i := start + 1; i < len(w.text); i++ {
		switch w.text[i] {
		case '"':
			return i + 1
		case '\\':
			w.escaped, w.simple = true, false
			i++
		case '[', ']', '{', '}':
			w.simple = false
		case ':':
			if before := w.text[i-1]; before == ' ' || i == start+1 {
				w.simple = false
			}
		}
	}
	return -1
}

// AppendText appends a document as PostgreSQL writes it, given its stored form.
func AppendText(dst, stored []byte) []byte {
	if len(stored) == 0 || stored[0] != ' ' {
		return append(dst, stored...)
	}
	rest := bytes.TrimLeft(stored, " ")
	for len(rest) > 0 {
		i := bytes.IndexAny(rest, `": `)
		if i < 0 {
			break
		}
		dst = append(dst, rest[:i]...)
		switch rest[i] {
		case '"':
			end := i + 1
			for end < len(rest)-1 && rest[end] != '"' {
				if rest[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(rest))
			dst, rest = append(dst, rest[i:end]...), rest[end:]
			continue
		case ':':
			dst = append(dst, ": "...)
		case ' ':
			if i > 0 && rest[i-1] == ',' {
				dst = append(dst, ' ')
			}
		}
		rest = rest[i+1:]
	}
	return append(dst, rest...)
}
