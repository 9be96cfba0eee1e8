package analytics

import (
	"fmt"
	"strings"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// firstUserOID is the lowest that PostgreSQL gives to what a user or an extension defines (FirstNormalObjectId).
const firstUserOID = "16384"

// Conditions on an OID: what it names is built in, or defined by a user or an extension.
const (
	builtIn = " OPERATOR(pg_catalog.<) " + firstUserOID
	later   = " OPERATOR(pg_catalog.>=) " + firstUserOID
)

// noRelation is the OID by which overloadSQL tells of what is not a relation. What follows is true for a function that the user may
// not execute, and false for what the database defines.
const noRelation = "0"

// builtInSchema is the OID of pg_catalog.
const builtInSchema = "11"

// overloadSQL adds to checkSQL's rows what the database defines by names that the statement uses, for operands of built-in types alone: where such a
// definition fits the operands better than the built-in one, PostgreSQL takes it. A built-in operator takes no part for operands of another category,
// as % of texts where it divides. It also adds the built-in functions of those names that the user has been forbidden to execute: PostgreSQL asks
// who queries a view, not its owner, for the right to the functions there.
func overloadSQL(n translate.Names) string {
	var b strings.Builder
	addAs := func(forbidden bool, name, from string) {
		fmt.Fprintf(&b, " UNION ALL SELECT %s, %t, false, false, %s, false, %s FROM %s", noRelation, forbidden, name, sessionSQL, from)
	}
	add := func(name, from string) { addAs(false, name, from) }
	forbidden := func(which string) {
		addAs(true, "p.proname::pg_catalog.text", "pg_catalog.pg_proc p WHERE "+which+" AND p.proacl IS NOT NULL AND NOT pg_catalog.has_function_privilege(p.oid, 'EXECUTE')")
	}
	if len(n.Called) > 0 {
		forbidden(among("p.proname", n.Called) + " AND p.oid" + builtIn)
		add("p.proname::pg_catalog.text", "pg_catalog.pg_proc p WHERE "+among("p.proname", n.Called)+" AND p.oid"+later+
			" AND (p.pronamespace OPERATOR(pg_catalog.=) "+builtInSchema+" OR "+among("p.proname", n.Functions)+" AND pg_catalog.pg_function_is_visible(p.oid))"+
			" AND NOT EXISTS (SELECT FROM pg_catalog.unnest(p.proargtypes) AS a(t) WHERE a.t"+later+")")
	}
	if len(n.Applied) > 0 {
		forbidden("p.oid OPERATOR(pg_catalog.=) ANY (SELECT o.oprcode::pg_catalog.oid FROM pg_catalog.pg_operator o WHERE " + among("o.oprname", n.Applied) + " AND o.oid" + builtIn + ")")
		add("o.oprname::pg_catalog.text", "pg_catalog.pg_operator o WHERE "+among("o.oprname", n.Applied)+" AND o.oid"+later+
			" AND (o.oprnamespace OPERATOR(pg_catalog.=) "+builtInSchema+" OR "+among("o.oprname", n.Operators)+" AND pg_catalog.pg_operator_is_visible(o.oid)"+
			" OR "+among("o.oprname", n.Bound)+") AND o.oprleft"+builtIn+" AND o.oprright"+builtIn+" AND EXISTS (SELECT FROM pg_catalog.pg_operator b"+
			" WHERE b.oprname OPERATOR(pg_catalog.=) o.oprname AND b.oid"+builtIn+" AND "+sameCategory("oprleft")+" AND "+sameCategory("oprright")+")")
	}
	if n.Casts {
		add("'a cast'", "pg_catalog.pg_cast k WHERE k.oid"+later+" AND k.castsource"+builtIn+" AND k.casttarget"+builtIn)
	}
	return b.String()
}

// sameCategory compares an operand of the operators o and b, which may be absent.
func sameCategory(operand string) string {
	category := func(operator string) string {
		return fmt.Sprintf("COALESCE((SELECT t.typcategory FROM pg_catalog.pg_type t WHERE t.oid OPERATOR(pg_catalog.=) %s.%s), '-')", operator, operand)
	}
	return category("o") + " OPERATOR(pg_catalog.=) " + category("b")
}

// among asks whether a name of the catalog is one of several.
func among(column string, names []string) string {
	return column + " OPERATOR(pg_catalog.=) ANY (ARRAY[" + quoted(names) + "]::pg_catalog.name[])"
}

func quoted(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = pgwire.Quote(name)
	}
	return strings.Join(out, ",")
}
