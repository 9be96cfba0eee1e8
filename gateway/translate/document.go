package translate

import (
	"fmt"

	"github.com/freshet-io/freshet/connectors/replica/document"
)

// The replica has documents in the form of package document of the connectors, in which a key of an object is found by
// a search for its text, and with it its value, as it is written. PostgreSQL's numbers are there with all their digits.
// What an array has at a place, and what an object contains, is found by parsing, which takes several times as long.

// mostKeys is how many keys a path may have, and all parts of documents that a statement makes documents of their own: paths into
// parts of parts are then no deeper than what keys are told apart by.
const mostKeys = document.Depth / 2

// searched is what is at a path of keys, in its stored form; empty if nothing is.
func searched(doc string, keys []string) string {
	if len(keys) > mostKeys {
		fail("path of so many keys into a json document")
	}
	for i, k := range keys {
		if i > 0 {
			doc = asDocument(doc)
		}
		doc = "simpleJSONExtractRaw(" + doc + ", " + quote(document.Key(k)) + ")"
	}
	return doc
}

// asDocument is what was found in a document as one of its own: the keys of an object have a blank more than those that
// are searched for.
func asDocument(found string) string { return "replaceAll(" + found + ", ' :', ':')" }

// writtenJSON is a document, or what was found in one, as PostgreSQL writes it.
func writtenJSON(stored string) string {
	text := "replaceRegexpAll(" + stored + ", '\" *:', '\": ')"
	for stored, written := range document.Escapes {
		text = "replaceAll(" + text + ", " + quote(stored) + ", " + quote(written) + ")"
	}
	return text
}

// textOf is the text of what was found in a document: NULL if nothing or null was. The engine computes once what the first condition reads,
// and what is behind others once for each place where it stands.
func textOf(found string) string {
	return fmt.Sprintf("multiIf(startsWith(%[1]s, '\"'), %[2]s, %[1]s IN ('', 'null'), NULL, substring(%[1]s, 1, 1) IN ('{', '['), %[3]s, %[1]s)",
		found, jsonUnescaped(found), writtenJSON(found))
}

// jsonUnescaped is a string, from how a document has it.
func jsonUnescaped(raw string) string {
	return "if(position(" + raw + ", '\\\\') = 0, substring(" + raw + ", 2, length(" + raw + ") - 2), JSONExtractString(" + raw + "))"
}

// isInvalid is whether the engine does not read a document of which it found nothing. It is written otherwise for each
// key: what stands alike in several conditional places the engine computes for all rows.
func isInvalid(doc, raw string) string {
	return "isValidJSON(if(" + raw + " = '' AND " + doc + " != '', " + doc + ", '{}')) = 0"
}
