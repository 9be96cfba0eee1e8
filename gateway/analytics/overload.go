package analytics

import (
	"fmt"
	"strings"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// firstUserOID is the lowest that PostgreSQL gives to what a user or an extension defines (FirstNormalObjectId).
const firstUserOID = 16384

// noRelation is the OID by which overloadSQL tells of what is not a relation. What follows is true for a function that the user may
// not execute, and false for what the database defines.
const noRelation = "0"

// overloadSQL adds to checkSQL's rows what the database defines by names that the statement uses, for operands of built-in types alone: where such a
// definition fits the operands better than the built-in one, PostgreSQL takes it. A built-in operator takes no part for operands of another category,
// as % of texts where it divides. It also adds the built-in functions of those names that the user has been forbidden to execute.
func overloadSQL(n translate.Names) string {
	var b strings.Builder
	addAs := func(forbidden bool, name, from string) {
		fmt.Fprintf(&b, " UNION ALL SELECT %s, %t, false, false, %s::text, false, current_user::text FROM %s", noRelation, forbidden, name, from)
	}
	add := func(name, from string) { addAs(false, name, from) }
	forbidden := func(which string) {
		addAs(true, "p.proname", "pg_catalog.pg_proc p WHERE "+which+" AND p.proacl IS NOT NULL AND NOT pg_catalog.has_function_privilege(p.oid, 'EXECUTE')")
	}
	if len(n.Called) > 0 {
		forbidden(fmt.Sprintf("p.proname IN (%s) AND p.oid < %d", quoted(n.Called), firstUserOID))
	}
	if len(n.Functions) > 0 {
		add("p.proname", fmt.Sprintf(`pg_catalog.pg_proc p WHERE p.proname IN (%s) AND p.oid >= %d AND pg_catalog.pg_function_is_visible(p.oid)
 AND NOT EXISTS (SELECT FROM pg_catalog.unnest(p.proargtypes) AS a(t) WHERE a.t >= %[2]d)`, quoted(n.Functions), firstUserOID))
	}
	if len(n.Operators) > 0 {
		forbidden(fmt.Sprintf("p.oid IN (SELECT o.oprcode FROM pg_catalog.pg_operator o WHERE o.oprname IN (%s) AND o.oid < %d)", quoted(n.Operators), firstUserOID))
		add("o.oprname", fmt.Sprintf(`pg_catalog.pg_operator o WHERE o.oprname IN (%s) AND o.oid >= %d AND pg_catalog.pg_operator_is_visible(o.oid)
 AND o.oprleft < %[2]d AND o.oprright < %[2]d AND EXISTS (SELECT FROM pg_catalog.pg_operator b WHERE b.oprname = o.oprname AND b.oid < %[2]d
 AND %s AND %s)`, quoted(n.Operators), firstUserOID, sameCategory("oprleft"), sameCategory("oprright")))
	}
	if n.Casts {
		add("'a cast'", fmt.Sprintf(`pg_catalog.pg_cast k WHERE k.oid >= %d AND k.castsource < %[1]d AND k.casttarget < %[1]d`, firstUserOID))
	}
	return b.String()
}

// sameCategory compares an operand of the operators o and b.
func sameCategory(operand string) string {
	category := "(SELECT t.typcategory FROM pg_catalog.pg_type t WHERE t.oid = %s.%s)"
	return fmt.Sprintf(category, "o", operand) + " IS NOT DISTINCT FROM " + fmt.Sprintf(category, "b", operand)
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = pgwire.Quote(name)
	}
	return strings.Join(out, ",")
}
