package translate

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// jsonElements are the rows that PostgreSQL makes of what is in an array or an object. Elements and members are as the document has them, so that
// they are documents of their own, with numbers as they are written.
func (q *query) jsonElements(function string, n *pg.Node, outer bool) *unnested {
	p := q.jsonPlace(n)
	keys, ok := p.keys()
	if !ok {
		fail("rows of a part of an array in a json document")
	}
	if q.t.jsonKeys += len(keys) + 1; q.t.jsonKeys > mostKeys {
		fail("so many parts of json documents")
	}
	objects := function == "jsonb_object_keys" || function == "jsonb_each" || function == "jsonb_each_text"
	opening, what, split := "[", "json that is no array", elementsIn
	if objects {
		opening, what, split = "{", "json that is no object", membersIn
	}
	found := searched(p.doc.sql, keys)
	all := "ifNull(" + guarded(found, found+" != '' AND NOT startsWith("+found+", '"+opening+"')", what) + ", '')"
	around := min(len(keys), 1) // the other keys were searched for in documents of their own
	if !objects {
		around++
	}
	list := once(outOf(all, around), split)
	if outer {
		list = "arrayMap(t -> toNullable(t), " + list + ")"
	}
	u := &unnested{list: list, refs: p.doc.refs, fails: true, name: function}
	u.shown = func(element string) []*column { return shownJSON(function, element, p.doc, outer) }
	u.scalar = function != "jsonb_each" && function != "jsonb_each_text"
	return u
}

// shownJSON are the columns that a function makes of an element of a document, or of a member of an object.
func shownJSON(function, element string, doc expr, outer bool) []*column {
	show := func(name string, oid uint32, sql string) *column {
		e := with(oid, "CAST("+sql+", 'Nullable(String)')", doc)
		if e.null, e.opaque = true, oid == oidJSONB; e.opaque && !outer {
			e.sql, e.null = sql, false
		}
		return &column{name: name, e: e}
	}
	key := once("substring("+element+", 1, position("+element+", '\":'))", jsonUnescaped)
	value := "substring(" + element + ", position(" + element + ", '\":') + 2)"
	switch function {
	case "jsonb_array_elements":
		return []*column{show("value", oidJSONB, element)}
	case "jsonb_array_elements_text":
		return []*column{show("value", oidText, textOf(element))}
	case "jsonb_object_keys":
		return []*column{show(function, oidText, key)}
	case "jsonb_each":
		return []*column{show("key", oidText, key), show("value", oidJSONB, asDocument(value))}
	}
	return []*column{show("key", oidText, key), show("value", oidText, once(value, textOf))}
}

// outOf is what was found in so many objects and arrays, as a document of its own: each key has as many blanks at least.
func outOf(found string, levels int) string {
	if levels == 0 {
		return found
	}
	return "replaceAll(" + found + ", '" + strings.Repeat(" ", levels) + ":', ':')"
}

// divided is the list of what is between the commas in front of what a pattern finds. No text has the character of this number: it would be escaped.
func divided(inside, pattern string) string {
	return `splitByChar('\x01', replaceRegexpAll(` + inside + ", " + quote(", ("+pattern+")") + `, '\x01\\1'))`
}

// membersIn divides the text of an object, whose own keys alone have no blanks behind them; of none if it is empty. A
// quote and a colon are the end of such a key then, for no string begins with a colon.
func membersIn(all string) string {
	return "if(" + all + " IN ('', '{}'), CAST([], 'Array(String)'), " + divided(inner(all), `"[^"]*":`) + ")"
}

// elementsIn divides the text of an array, with no blanks behind the keys of its objects; of none if it is empty. A
// quote begins or ends a string, and a bracket or brace that opens is never in one:
//   - nothing but objects with nothing of the like within is divided by what is between two of them,
//   - what has no array or object within is strings and what is between commas,
//   - objects that are not empty begin by their first keys, and all are such if everything from one to the next ends
//     in a brace.
//
// Elsewhere the commas that are in no bracket or brace are looked for, which takes five times as long.
func elementsIn(all string) string {
	inside := inner(all)
	flat := "startsWith(" + all + ", '[{') AND endsWith(" + all + ", '}]') AND countSubstrings(" + all + ", '{') = countSubstrings(" + all + ", '}, {') + 1"
	objects := divided(inside, `\{"[^"]*":`)
	nested := "arrayMap(p -> arrayStringConcat(if(p[1] = ', ', arrayPopFront(p), p)), " + bind(
		"arraySplit((t, d) -> t = ', ' AND d = 0, ts, arrayCumSum(t -> multiIf(t IN ('[', '{'), 1, t IN (']', '}'), -1, 0), ts))",
		"ts", "extractAll("+inside+", "+quote(`"[^"]*"|[\[\]{}]|, |[^"\[\]{},]+`)+")") + ")"
	return "multiIf(" + all + " IN ('', '[]'), CAST([], 'Array(String)'), position(" + all + ", '[', 2) = 0 AND " + flat +
		", arrayMap(t -> concat('{', t, '}'), splitByString('}, {', substring(" + all + ", 3, length(" + all + ") - 4))), position(" +
		all + ", '[', 2) = 0 AND position(" + all + ", '{') = 0, extractAll(" + inside + ", " + quote(`"[^"]*"|[^", ]+`) + "), startsWith(" +
		all + `, '[{"') AND position(` + all + ", '{}') = 0 AND arrayAll(p -> endsWith(p, '}'), " + objects + "), " + objects + ", " + nested + ")"
}
