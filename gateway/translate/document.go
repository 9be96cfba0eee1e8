package translate

import (
	"regexp"
	"strings"
)

// The replica has documents in the form of package document of the connectors: most have a blank in front. In one that
// has a key of its own is found by a search for its text, and in one with a single blank a key of an object in it,
// after that is found. PostgreSQL's numbers are there with all their digits. The others are parsed, which takes several
// times as long.

// maxSteps is how many keys a search goes by, one into the object that the last one found. The text doubles with each.
const maxSteps = 4

// isSearchable reports whether a search finds keys. The quote before a key must not be one that ends a string: what is
// behind that is no letter.
func isSearchable(keys []string) bool {
	for _, k := range keys {
		if k != "" && strings.ContainsAny(k[:1], ",:]} ") {
			return false
		}
	}
	return len(keys) <= maxSteps
}

// storedForm is whether keys can be searched for in a document.
func storedForm(doc string, keys []string) string {
	if len(keys) > 1 {
		return isUnambiguous(doc)
	}
	return "startsWith(" + doc + ", ' ')"
}

// isUnambiguous is whether nothing in a document's strings looks like what is around strings.
func isUnambiguous(doc string) string { return "startsWith(" + doc + ", ' {')" }

// isObject is whether a document is an object, in whichever form.
func isObject(doc string) string {
	return "(startsWith(" + doc + ", ' ') OR startsWith(" + doc + ", '{'))"
}

// searched is what is at a path, as it is written there; empty if nothing is.
func searched(doc string, keys []string) string {
	for _, k := range keys[:len(keys)-1] {
		// The keys of the object that was found have a blank more than those that are searched for.
		inner := "simpleJSONExtractRaw(" + doc + ", " + quote(k) + ")"
		doc = "if(startsWith(" + inner + ", '{'), replaceAll(" + inner + ", ' :', ':'), '')"
	}
	return "simpleJSONExtractRaw(" + doc + ", " + quote(keys[len(keys)-1]) + ")"
}

// textAt is the text of what is at a path: of what a search finds, or else of what parsing does. The search is what the
// first condition reads, since the engine computes what is behind others once for each place where it stands.
func textAt(doc string, keys []string) string {
	parsed := parsedText(doc, keys)
	if !isSearchable(keys) {
		return parsed
	}
	raw := searched(doc, keys)
	isString, isComposite := "startsWith("+raw+", '\"')", "substring("+raw+", 1, 1) IN ('{', '[')"
	composite := "replaceRegexpAll(" + raw + ", '\" *:', '\": ')"
	text, missing := "", "NULL"
	if len(keys) == 1 {
		// The engine does not find the end of all that has such strings in it, and finds nothing then.
		unsure := "startsWith(" + doc + ", '  ')"
		key := ", " + quote(keys[0]) + ")"
		found := "simpleJSONExtractString(" + doc + key
		text = unsure + " AND " + found + " != '', " + found + ", " + isString + ", '', "
		missing = guarded(missing, unsure+" AND "+raw+" = '' AND simpleJSONHas("+doc+key, "json value with such texts")
		composite = guarded(composite, unsure+" AND "+isComposite, "json object or array with such texts")
	}
	unquoted := "substring(" + raw + ", 2, length(" + raw + ") - 2)"
	return "multiIf(" + isString + " AND " + isUnambiguous(doc) + ", " + unquoted + ", NOT " + storedForm(doc, keys) + ", " + parsed + ", " +
		text + raw + " = '', " + missing + ", " + raw + " = 'null', NULL, " +
		isComposite + ", " + composite + ", " + raw + ")"
}

// parsedText is the text of what is at a path, of a document in any form. What is an object or an array is left to
// PostgreSQL, which writes it otherwise than the engine.
func parsedText(doc string, keys []string) string {
	path := doc
	for _, k := range keys {
		path += ", " + quote(k)
	}
	raw := "JSONExtractRaw(" + path + ")"
	// As it is written in the document: the engine's numbers have 64 bits. The key followed by a colon is in no string,
	// where its quotes would be escaped; once in the document it is the one that was found.
	last := regexp.QuoteMeta(`"`+keys[len(keys)-1]+`"`) + " *: ?"
	fraction := "(match(" + raw + ", '^[-0-9]') AND JSONType(" + path + ") = 'Double')"
	written := "extract(" + doc + ", " + quote(last+"(-?[0-9.]+)") + ")"
	// The engine may compute a guard for rows of which the value is another. It parses a document once for all that is
	// written alike, and again for a number's type only. It parsed all several times where the text had a name, or
	// stood within another condition.
	return "multiIf(" + raw + " = 'null', NULL, startsWith(" + raw + ", '\"'), " + jsonUnescaped(raw) + ", " + fraction + ", " +
		guarded(written, fraction+" AND countMatches("+doc+", "+quote(last)+") != 1", "number in a json document") + ", " +
		raw + " = '', " + guarded("NULL", raw+" = '' AND "+isInvalid(doc, raw), "json document") + ", " +
		guarded(raw, "substring("+raw+", 1, 1) IN ('{', '[')", "json object or array") + ")"
}

// jsonUnescaped is a string, from how a document has it.
func jsonUnescaped(raw string) string {
	return "if(position(" + raw + ", '\\\\') = 0, substring(" + raw + ", 2, length(" + raw + ") - 2), JSONExtractString(" + raw + "))"
}

// isInvalid is whether the engine does not read a document of which it found nothing. It is written otherwise for each
// key: what stands alike in several conditional places the engine computes for all rows.
func isInvalid(doc, raw string) string {
	return "isValidJSON(if(" + raw + " = '', " + doc + ", '{}')) = 0"
}
