package translate

import (
	"cmp"
	"regexp"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/syntax"
)

// collation says how strings compare. Its zero value is that of a literal: the database's, until a column decides.
type collation struct {
	// name is PostgreSQL's, as SQL writes it. Empty: the database's default, or a literal's.
	name string
	// bytewise says that strings are ordered by their bytes, as the column's collation orders them.
	bytewise bool
}

const unknownCollation = "?"

// bytewiseCollations are those of PostgreSQL's own that SQL asks for by these names.
var bytewiseCollations = map[string]string{"C": `pg_catalog."C"`, "POSIX": `pg_catalog."POSIX"`, "ucs_basic": "pg_catalog.ucs_basic", "pg_c_utf8": "pg_catalog.pg_c_utf8"}

// chosenDefault is the name of the database's collation where a statement asks for it, which goes before that of a column.
const chosenDefault = `"pg_catalog"."default"`

// columnCollation is that of a stored column of strings.
func columnCollation(c cdc.Column) collation {
	if c.BytewiseCollation {
		return collation{name: c.Collation, bytewise: true}
	}
	return collation{name: cmp.Or(c.Collation, unknownCollation)}
}

// isDefault says that any other collation goes before this.
func (c collation) isDefault() bool { return c.name == "" || c.name == cdc.DefaultCollation }

// and is the collation of what two strings are made to: that of a column goes before the database's. Between two others PostgreSQL refuses to choose as
// soon as it depends on them.
func (c collation) and(o collation) collation {
	switch {
	case c == collation{} || c.isDefault() && !o.isDefault():
		return o
	case c == o || o.isDefault():
		return c
	}
	fail("strings of two collations")
	return c
}

func (t *translator) bytewise(c collation) bool {
	return c.bytewise || c.isDefault() && t.env.BytewiseCollation
}

// predefined is a collation of PostgreSQL's own for a language, such as pg_catalog."en_US.utf8" and pg_catalog."de-x-icu".
var predefined = regexp.MustCompile(`^pg_catalog\."?([a-z]{2,3})[-_"]`)

// ownCases are the languages under which the cases of ASCII letters are not ASCII's: I is not the upper case of i, or ij is one letter.
var ownCases = map[string]bool{"tr": true, "az": true, "crh": true, "ku": true, "tt": true, "lt": true, "nl": true}

// asciiCase says that the upper and the lower case of an ASCII letter are ASCII's under a collation.
func (t *translator) asciiCase(c collation) bool {
	switch {
	case t.bytewise(c):
		return true
	case c.isDefault() || c.name == chosenDefault:
		return t.env.ASCIICase
	}
	language := predefined.FindStringSubmatch(c.name)
	return language != nil && !ownCases[language[1]]
}

// requireASCIICase refuses to change the case of letters under a collation that has cases of its own for ASCII letters.
func (t *translator) requireASCIICase(c collation) {
	if !t.asciiCase(c) {
		fail("upper and lower case under this collation")
	}
}

func (q *query) collate(c *pg.CollateClause) expr {
	e := q.value(c.Arg)
	if e.isUnknown() {
		e = resolveUnknown(e)
	}
	if !isString(e.oid) {
		fail("COLLATE of something else than a string")
	}
	e.collation = q.t.namedCollation(syntax.Strings(c.Collname))
	e.lit = nil
	return e.plain()
}

// namedCollation is the collation that COLLATE asks for.
func (t *translator) namedCollation(names []string) collation {
	last := names[len(names)-1]
	name, ok := bytewiseCollations[last]
	switch {
	case len(names) > 1 && names[0] != "pg_catalog":
	case ok:
		return collation{name: name, bytewise: true}
	case last == "default":
		return collation{name: chosenDefault, bytewise: t.env.BytewiseCollation}
	}
	fail("collation that is neither bytewise nor the database's")
	return collation{}
}
