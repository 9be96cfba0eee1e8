package analytics

import (
	"strings"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/syntax"
)

// firstUserOID is the lowest that PostgreSQL gives to what a user or an extension defines (FirstNormalObjectId).
const firstUserOID = "16384"

// Conditions on an OID: what it names is built in, or defined by a user or an extension.
const (
	builtIn = " OPERATOR(pg_catalog.<) " + firstUserOID
	later   = " OPERATOR(pg_catalog.>=) " + firstUserOID
)

// builtInSchema is the OID of pg_catalog.
const builtInSchema = "11"

// overloadSQL adds rows of obstacles to checkSQL's, which name what keeps the statement from the replica:
//
//  1. Functions that the database defines by a name that the statement uses, if their arguments are of types that the
//     replica may have. PostgreSQL takes such a function where it fits the arguments better than the built-in one:
//     lower(varchar) for a varchar.
//  2. Operators and casts that the database defines, likewise. An operator is left out if no built-in one of its name
//     has operands of like categories, as a % of texts beside the % that divides. A cast of an enumeration WITH INOUT
//     is left out, too: PostgreSQL does the same without it.
//  3. Built-in functions of such names, also those behind operators, whose EXECUTE the session's user lacks. For the
//     functions in a view PostgreSQL asks for the right of the user who queries the view, not of its owner.
func overloadSQL(n syntax.Names) string {
	var b strings.Builder
	add := func(kind factKind, name, from string) {
		b.WriteString(" UNION ALL " + obstacleColumns(name).sql(kind) + " FROM " + from)
	}
	defined := func(name, from string) { add(isDefined, name, from) }
	forbidden := func(which string) {
		add(isForbidden, "p.proname::pg_catalog.text",
			"pg_catalog.pg_proc p WHERE "+which+" AND p.proacl IS NOT NULL AND NOT pg_catalog.has_function_privilege(p.oid, 'EXECUTE')")
	}
	if len(n.Called) > 0 {
		forbidden(among("p.proname", n.Called) + " AND p.oid" + builtIn)
		defined("p.proname::pg_catalog.text", "pg_catalog.pg_proc p WHERE "+among("p.proname", n.Called)+" AND p.oid"+later+
			" AND (p.pronamespace OPERATOR(pg_catalog.=) "+builtInSchema+" OR "+among("p.proname", n.Functions)+" AND pg_catalog.pg_function_is_visible(p.oid))"+
			" AND NOT EXISTS (SELECT FROM pg_catalog.unnest(p.proargtypes) AS a(t) JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) a.t"+
			" LEFT JOIN pg_catalog.pg_type e ON e.oid OPERATOR(pg_catalog.=) t.typelem AND t.typcategory OPERATOR(pg_catalog.=) 'A'"+
			" WHERE NOT "+replicable("t")+" AND NOT COALESCE("+replicable("e")+", false))")
	}
	if len(n.Applied) > 0 {
		forbidden("p.oid OPERATOR(pg_catalog.=) ANY (SELECT o.oprcode::pg_catalog.oid FROM pg_catalog.pg_operator o WHERE " + among("o.oprname", n.Applied) + " AND o.oid" + builtIn + ")")
		defined("o.oprname::pg_catalog.text", "pg_catalog.pg_operator o"+operands("l", "r", "o")+" WHERE "+among("o.oprname", n.Applied)+" AND o.oid"+later+
			" AND (o.oprnamespace OPERATOR(pg_catalog.=) "+builtInSchema+" OR "+among("o.oprname", n.Operators)+" AND pg_catalog.pg_operator_is_visible(o.oid)"+
			" OR "+among("o.oprname", n.Bound)+") AND (l.oid IS NULL OR "+replicable("l")+") AND (r.oid IS NULL OR "+replicable("r")+")"+
			" AND EXISTS (SELECT FROM pg_catalog.pg_operator b"+operands("bl", "br", "b")+" WHERE b.oprname OPERATOR(pg_catalog.=) o.oprname AND b.oid"+builtIn+
			" AND ("+alike("l", "bl")+" AND ("+alike("r", "br")+" OR "+unlikeAnyBuiltIn("l")+") OR "+alike("r", "br")+" AND "+unlikeAnyBuiltIn("r")+"))")
	}
	if n.Casts {
		defined("'a cast'", "pg_catalog.pg_cast k JOIN pg_catalog.pg_type s ON s.oid OPERATOR(pg_catalog.=) k.castsource JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) k.casttarget"+
			" WHERE k.oid"+later+" AND "+replicable("s")+" AND "+replicable("t")+" AND (s.oid"+builtIn+" AND t.oid"+builtIn+" OR k.castmethod OPERATOR(pg_catalog.<>) 'i')")
	}
	return b.String()
}

// classSQL adds an obstacle where the database defines how a type is ordered or told apart: by a default operator
// class for that type alone, which goes before that for all enumerations, for all arrays, or for text, which is a
// varchar's. ORDER BY and GROUP BY use it, though they name no operator.
var classSQL = " UNION ALL " + obstacleColumns("pg_catalog.concat('the order of ', pg_catalog.format_type(t.oid, NULL))").sql(isDefined) +
	" FROM pg_catalog.pg_opclass k JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) k.opcintype WHERE k.opcdefault AND k.oid" + later +
	" AND (t.oid" + builtIn + ` OR t.typtype OPERATOR(pg_catalog.=) 'e'::pg_catalog."char") AND k.opcmethod OPERATOR(pg_catalog.=) ANY (` + sortsOrHashes + ")"

// sortsOrHashes are the access methods btree and hash.
const sortsOrHashes = "'{403,405}'::pg_catalog.oid[]"

// replicable asks whether something on the replica may have a type. Nothing has a base type, a range or a row type that
// a user or an extension defines; domains and enumerations are what columns may have.
func replicable(t string) string {
	return "(" + t + ".oid" + builtIn + " OR " + t + `.typtype OPERATOR(pg_catalog.=) ANY ('{d,e}'::pg_catalog."char"[]))`
}

// operands joins the types of an operator's operands, of which it may lack one.
func operands(left, right, operator string) string {
	join := func(t, operand string) string {
		return " LEFT JOIN pg_catalog.pg_type " + t + " ON " + t + ".oid OPERATOR(pg_catalog.=) " + operator + "." + operand
	}
	return join(left, "oprleft") + join(right, "oprright")
}

// The pseudo-types of operands that are declared for all arrays, for all else, and for all enumerations.
const (
	anyArray    = "'{2277,5078}'::pg_catalog.oid[]"
	anyNonArray = "'{2776,5079}'::pg_catalog.oid[]"
	anyEnum     = "'{2776,5079,3500}'::pg_catalog.oid[]"
)

// alike asks whether the built-in type u may be meant where the operand is declared to be of type t: neither is there,
// the category is the same, or u is any such type.
func alike(t, u string) string {
	return "(" + t + ".oid IS NULL AND " + u + ".oid IS NULL OR " + t + ".typcategory OPERATOR(pg_catalog.=) " + u + ".typcategory" +
		" OR " + u + ".oid OPERATOR(pg_catalog.=) ANY (CASE WHEN " + t + ".typcategory OPERATOR(pg_catalog.=) 'A' THEN " + anyArray +
		" WHEN " + t + ".typcategory OPERATOR(pg_catalog.=) 'E' THEN " + anyEnum + " ELSE " + anyNonArray + " END))"
}

// unlikeAnyBuiltIn asks whether no built-in operator is declared for a type itself. PostgreSQL then takes one of the
// database's by this operand alone, where the other one is a literal.
func unlikeAnyBuiltIn(t string) string {
	const varchar = "1043"
	return "(" + t + ".oid OPERATOR(pg_catalog.=) " + varchar + " OR " + t + ".typtype OPERATOR(pg_catalog.=) 'e')"
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
