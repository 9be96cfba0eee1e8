package translate

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// containment collects what must hold for a document to contain another, and where the engine would compare otherwise than PostgreSQL.
type containment struct {
	conditions, unsure []string
	depth              int // how many arrays it is in
}

func (c *containment) require(condition string) { c.conditions = append(c.conditions, condition) }

func (c *containment) holds() string { return strings.Join(c.conditions, " AND ") }

func (c *containment) mayDiffer() string { return strings.Join(c.unsure, " OR ") }

// members is an object that has some members, at a path of the engine's functions.
func (c *containment) members(object map[string]any, path string) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		at := path + ", " + quote(key)
		is := func(kind string) { c.require("JSONType(" + at + ") = '" + kind + "'") }
		switch v := object[key].(type) {
		case string:
			is("String")
			c.require("JSONExtractString(" + at + ") = " + quote(v))
		case bool:
			is("Bool")
			c.require("JSONExtractBool(" + at + ") = " + strconv.FormatBool(v))
		case nil:
			is("Null")
			c.require("JSONHas(" + at + ")")
		case json.Number:
			c.require("JSONExtractRaw(" + at + ") = '" + integerText(v) + "'")
			c.unsure = append(c.unsure, "JSONType("+at+") = 'Double'") // 1.0 is contained as well
		case map[string]any:
			is("Object")
			c.members(v, at)
		case []any:
			c.array(v, at)
		}
	}
}

// integerText is a number as the engine writes it.
func integerText(v json.Number) string {
	n, err := strconv.ParseInt(v.String(), 10, 64)
	if err != nil {
		fail("number of this form in a json document")
	}
	return strconv.FormatInt(n, 10)
}

// array is an array that has some elements, in any order.
func (c *containment) array(elements []any, path string) {
	c.require("JSONType(" + path + ") = 'Array'")
	list := "JSONExtractArrayRaw(" + path + ")"
	has := func(raw string) { c.require("has(" + list + ", " + quote(raw) + ")") }
	for _, element := range elements {
		switch v := element.(type) {
		case string:
			has(`"` + plainKey(textLiteral(oidText, v)) + `"`)
		case bool:
			has(strconv.FormatBool(v))
		case nil:
			has("null")
		case json.Number:
			has(integerText(v))
			if n, _ := v.Int64(); n < -exactInteger || n > exactInteger {
				fail("number of this form in an array of a json document") // which a fraction of the document would become as well
			}
			c.unsure = append(c.unsure, "arrayExists(n -> match(n, '^-?[0-9]+[.eE]'), "+list+")")
		case map[string]any:
			name := "e" + itoa(c.depth)
			inner := containment{depth: c.depth + 1}
			inner.require("startsWith(" + name + ", '{')")
			inner.members(v, name)
			c.require("arrayExists(" + name + " -> " + inner.holds() + ", " + list + ")")
			if len(inner.unsure) > 0 {
				c.unsure = append(c.unsure, "arrayExists("+name+" -> "+inner.mayDiffer()+", "+list+")")
			}
		default:
			fail("array in an array of a json document")
		}
	}
}
