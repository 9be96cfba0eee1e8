package analytics

import (
	"context"
	"fmt"
	"strconv"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// askEnum asks PostgreSQL for the labels of a type, as the session's search path finds it; nil: it is no enumeration.
func askEnum(ctx context.Context, s *pgwire.SessionInfo, ref translate.EnumRef) (*translate.Enum, error) {
	which := fmt.Sprintf("(t.oid OPERATOR(pg_catalog.=) %[1]d OR t.typarray OPERATOR(pg_catalog.=) %[1]d)", ref.OID)
	switch named := "t.typname OPERATOR(pg_catalog.=) " + pgwire.Quote(ref.Name) + " AND "; {
	case ref.Name == "":
	case ref.Schema == "":
		which = named + "pg_catalog.pg_type_is_visible(t.oid)"
	default: // also of a view, into whose schema the session may not look
		which = named + "t.typnamespace OPERATOR(pg_catalog.=) (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname OPERATOR(pg_catalog.=) " + pgwire.Quote(ref.Schema) + ")"
	}
	rows, err := s.Ask(ctx, "SELECT e.enumtypid, e.enumlabel FROM pg_catalog.pg_type t JOIN pg_catalog.pg_enum e ON e.enumtypid OPERATOR(pg_catalog.=) t.oid WHERE "+which)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	found := &translate.Enum{Labels: map[string]bool{}}
	for _, row := range rows {
		if len(row) != 2 {
			return nil, fmt.Errorf("PostgreSQL's answer has rows of %d values", len(row))
		}
		oid, err := strconv.ParseUint(string(row[0]), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the OID of an enumeration: %w", err)
		}
		found.OID, found.Labels[string(row[1])] = uint32(oid), true
	}
	return found, nil
}
