package translate

import (
	"regexp"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// Dialect is the database whose answers a translation must equal.
type Dialect uint8

// The dialects.
const (
	PostgreSQL Dialect = iota
	// CockroachDB speaks PostgreSQL's grammar and types, and means something else by much of it: / of integers is a decimal, sums
	// of integers are decimals, integers are 64 bits wide in between, quotients and averages have other digits, NULLs and NaN come
	// first, char keeps its blanks. What is translated is the subset in which nothing of that shows: columns compared with columns and constants
	// of their own type, AND, OR, NOT, IS NULL, inner and left joins, GROUP BY, count, sum, min, max, ORDER BY, LIMIT, over
	// the types in cockroachTypes.
	CockroachDB
)

// checkStatement refuses what the dialect may mean in another way than PostgreSQL.
func (d Dialect) checkStatement(s *pg.SelectStmt) {
	if d == CockroachDB {
		cockroachSelect(s)
	}
}

// checkRelations refuses columns whose values the dialect may order, show or compute in another way.
func (d Dialect) checkRelations(relations []Relation) {
	if d != CockroachDB {
		return
	}
	for _, r := range relations {
		for _, i := range r.Columns {
			c := r.Table.Columns[i]
			if c.Enum || !cockroachTypes[c.Type] {
				fail("column %q, whose type may behave in another way in CockroachDB", c.Name)
			}
			// Decimals with more places may be shown with an exponent.
			if _, scale, ok := numericModifier(c.Modifier); c.Type == oidNumeric && (!ok || scale > 6) {
				fail("column %q, a decimal without a scale or with more than six places, in CockroachDB", c.Name)
			}
		}
	}
}

// cockroachTypes are those that are stored, compared and shown alike. Not among them: narrow integers (a sum has
// another type), char (its blanks count), floats (NaN), timestamptz (how its zone is shown), json, bytea, time.
var cockroachTypes = map[uint32]bool{
	oidBool: true, oidInt8: true, oidText: true, oidVarchar: true, oidUUID: true, oidDate: true, oidTimestamp: true, oidNumeric: true,
}

// checkOrder refuses a sort key where the place of NULLs is left to the database: in CockroachDB a setting decides.
func (d Dialect) checkOrder(e expr, by *pg.SortBy) {
	if d == CockroachDB && e.null && by.SortbyNulls == pg.SortByNulls_SORTBY_NULLS_DEFAULT {
		fail("ORDER BY of a value that may be NULL without NULLS FIRST or NULLS LAST, in CockroachDB")
	}
}

// checkOperands refuses comparisons other than of one type, or of a whole number with an integer or decimal.
func (d Dialect) checkOperands(l, r expr) {
	if d != CockroachDB || l.isUnknown() != r.isUnknown() { // a constant in quotes takes the other's type: see checkText
		return
	}
	wholeLiteral := func(a, b expr) bool {
		return a.lit != nil && isInteger(a.oid) && (b.oid == oidInt8 || b.oid == oidNumeric)
	}
	if l.isUnknown() || l.oid != r.oid && !(isText(l.oid) && isText(r.oid)) && !wholeLiteral(l, r) && !wholeLiteral(r, l) {
		fail("comparison of different types in CockroachDB")
	}
}

// cockroachForms are the constants in quotes that both databases read as the same value of a type.
var cockroachForms = map[uint32]*regexp.Regexp{
	oidInt8:      regexp.MustCompile(`^-?[0-9]{1,18}$`),
	oidNumeric:   regexp.MustCompile(`^-?[0-9]{1,18}(\.[0-9]{1,18})?$`),
	oidBool:      regexp.MustCompile(`^(true|false)$`),
	oidUUID:      regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`),
	oidDate:      regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`),
	oidTimestamp: regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?)?$`),
}

// checkText refuses constants in quotes, and parameters, in forms that the dialect may read in another way.
func (d Dialect) checkText(text string, oid uint32) {
	if d != CockroachDB || isText(oid) {
		return
	}
	if form := cockroachForms[oid]; form == nil || !form.MatchString(text) {
		fail("a constant of this form in CockroachDB")
	}
}
