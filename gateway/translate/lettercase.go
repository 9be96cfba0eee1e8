package translate

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// letterCase says that a value is lower or upper of a text. The engine does not know PostgreSQL's cases of letters beyond ASCII, but it does know what
// is ASCII in the result, unless one of the strays is in the text: the other letters stay one character each that is none of ASCII.
type letterCase struct {
	made, of, name string
	collation      collation // by which it was made, whatever it is compared by
}

// maxNeedles is how many strays the engine searches one by one.
const maxNeedles = 8

// inCase returns what the value is the lower or upper case of; nil: of nothing, or it was made something else since.
func (e expr) inCase() *letterCase {
	if e.letterCase == nil || e.letterCase.made != e.sql {
		return nil
	}
	return e.letterCase
}

// strays are the characters that become ASCII, or several, in lower or upper case under a collation; empty: they are not known.
func (t *translator) strays(name string, c collation) string {
	switch {
	case !c.isDefault() && c.name != chosenDefault:
		return ""
	case name == "lower":
		return t.env.LowerStrays
	}
	return t.env.UpperStrays
}

// casedText writes a text in lower or upper case, where it will only be compared with ASCII.
func (t *translator) casedText(name, sql string, c collation) string {
	strays := t.strays(name, c)
	if strays == "" {
		return name + "(" + asciiOnly(sql) + ")"
	}
	found := "match(" + sql + ", " + quote("["+strays+"]") + ")"
	if utf8.RuneCountInString(strays) <= maxNeedles {
		needles := strings.Split(strays, "")
		for i := range needles {
			needles[i] = quote(needles[i])
		}
		found = "multiSearchAny(" + sql + ", [" + strings.Join(needles, ", ") + "])"
	}
	return name + "(" + guarded(sql, "length("+sql+") != lengthUTF8("+sql+") AND "+found, "a letter of ASCII in another case") + ")"
}

// besideASCII is lower or upper of a text where it is only compared with constants, if these are ASCII.
func (q *query) besideASCII(x expr, constants ...expr) expr {
	was := x.inCase()
	if was == nil || slices.ContainsFunc(constants, func(c expr) bool {
		text, ok := c.constantText()
		return !ok || !isASCII(text)
	}) {
		return x
	}
	x.sql = q.t.casedText(was.name, was.of, was.collation)
	return x
}
