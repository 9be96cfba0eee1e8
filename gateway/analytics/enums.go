package analytics

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// enumUse is an enumeration that a translation relies on: what a reference meant, and which labels it had. No table that is read need have it, so that
// no version of a table shows when it changes.
type enumUse struct {
	ref  translate.EnumRef
	enum *translate.Enum
}

// enumFact is what PostgreSQL says of a reference to an enumeration.
type enumFact struct {
	oid     uint32
	version string
}

// enumVersion is an expression for the version of the enumeration t: its labels, with the rows that they are in, for a label may have had another
// name in between.
const enumVersion = `(SELECT pg_catalog.md5(pg_catalog.string_agg(pg_catalog.concat_ws(':', e.oid, e.xmin, e.enumlabel), '<' ORDER BY e.oid))
 FROM pg_catalog.pg_enum e WHERE e.enumtypid OPERATOR(pg_catalog.=) t.oid)`

// enumMeant is a condition on a type t: that it is what the session's search path finds for a reference.
func enumMeant(ref translate.EnumRef) string {
	switch named := "t.typname OPERATOR(pg_catalog.=) " + pgwire.Quote(ref.Name) + " AND "; {
	case ref.Name == "":
		return fmt.Sprintf("(t.oid OPERATOR(pg_catalog.=) %[1]d OR t.typarray OPERATOR(pg_catalog.=) %[1]d)", ref.OID)
	case ref.Schema == "":
		return named + "pg_catalog.pg_type_is_visible(t.oid)"
	default: // also of a view, into whose schema the session may not look
		return named + "t.typnamespace OPERATOR(pg_catalog.=) (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname OPERATOR(pg_catalog.=) " + pgwire.Quote(ref.Schema) + ")"
	}
}

// askEnum asks PostgreSQL for the labels of a type, as the session's search path finds it; nil: it is no enumeration.
func askEnum(ctx context.Context, s *pgwire.SessionInfo, ref translate.EnumRef) (*translate.Enum, error) {
	rows, err := s.Ask(ctx, "SELECT l.enumtypid, l.enumlabel, "+enumVersion+
		" FROM pg_catalog.pg_type t JOIN pg_catalog.pg_enum l ON l.enumtypid OPERATOR(pg_catalog.=) t.oid WHERE "+enumMeant(ref))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	found := &translate.Enum{Labels: map[string]bool{}}
	for _, row := range rows {
		if len(row) != 3 {
			return nil, fmt.Errorf("PostgreSQL's answer has rows of %d values", len(row))
		}
		oid, err := strconv.ParseUint(string(row[0]), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the OID of an enumeration: %w", err)
		}
		found.OID, found.Labels[string(row[1])], found.Version = uint32(oid), true, string(row[2])
	}
	return found, nil
}

// enumsSQL adds a row to checkSQL's for what each reference to an enumeration means now, with the reference's number before the version.
func enumsSQL(used []enumUse) string {
	var b strings.Builder
	for i, u := range used {
		row := factColumns{id: "t.oid", mayRead: "false", rowSecurity: "false", children: "false", visible: "false",
			text: fmt.Sprintf("pg_catalog.concat('%d ', %s)", i, enumVersion)}
		b.WriteString(" UNION ALL " + row.sql(isEnum) + " FROM pg_catalog.pg_type t WHERE " + enumMeant(u.ref))
	}
	return b.String()
}

// addEnum reads what a row of enumsSQL tells.
func (f *facts) addEnum(oid uint32, text string) error {
	number, version, _ := strings.Cut(text, " ")
	i, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("read the number of an enumeration: %w", err)
	}
	f.enums[i] = enumFact{oid, version}
	return nil
}

// renamed names an enumeration that is another one by now, or has other labels; empty: there is none.
func (f *facts) renamed(used []enumUse) string {
	for i, u := range used {
		if f.enums[i] != (enumFact{u.enum.OID, u.enum.Version}) {
			return strings.TrimPrefix(u.ref.Schema+"."+u.ref.Name, ".")
		}
	}
	return ""
}
