package differential

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/translate"
)

const catalogSQL = `
SELECT c.oid, c.relname, a.attname, a.atttypid, a.atttypmod, a.attnum, a.attnotnull, t.typtype = 'e',
 a.attcollation = 0 OR k.collname IN ('C', 'POSIX', 'ucs_basic', 'pg_c_utf8')
  OR k.collname = 'default' AND d.datlocprovider = 'b' AND d.datlocale IN ('C', 'C.UTF-8'),
 coalesce(array_position(i.indkey::int2[], a.attnum), -1), format_type(a.atttypid, a.atttypmod),
 coalesce((SELECT quote_ident(s.nspname) FROM pg_namespace s WHERE s.oid = k.collnamespace) || '.' || quote_ident(k.collname), ''),
 coalesce((SELECT json_agg(e.enumlabel ORDER BY e.enumsortorder)::text FROM pg_enum e WHERE e.enumtypid = t.oid), '')
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
JOIN pg_type t ON t.oid = a.atttypid
JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
JOIN pg_database d ON d.datname = current_database()
LEFT JOIN pg_collation k ON k.oid = a.attcollation
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
ORDER BY c.oid, a.attnum`

// catalog is the tables of a database, all of them replicated.
type catalog map[string]*cdc.Table

// Table implements translate.Catalog.
func (c catalog) Table(_ []string, schema, name string) (*cdc.Table, bool) {
	if schema != "" && schema != "public" {
		return nil, false
	}
	t, ok := c[name]
	return t, ok
}

// enums are the enumerations that columns have, which is one of a name that statements know.
func (c catalog) enums() map[translate.EnumRef]*translate.Enum {
	found := map[translate.EnumRef]*translate.Enum{{Name: "mood"}: nil}
	for _, t := range c {
		for oid, labels := range t.Enums {
			e := &translate.Enum{OID: oid, Labels: map[string]bool{}}
			for _, l := range labels {
				e.Labels[l] = true
			}
			found[translate.EnumRef{Name: "mood"}], found[translate.EnumRef{OID: oid}] = e, e
		}
	}
	return found
}

// readCatalog describes a database's tables as a change source would.
func readCatalog(ctx context.Context, conn *pgconn.PgConn) (catalog, error) {
	r := conn.ExecParams(ctx, catalogSQL, nil, nil, nil, nil).Read()
	if r.Err != nil {
		return nil, fmt.Errorf("read catalog: %w", r.Err)
	}
	tables := catalog{}
	keys := map[*cdc.Table]map[int]int{} // position in key → column
	for _, row := range r.Rows {
		name := string(row[1])
		t := tables[name]
		if t == nil {
			t = &cdc.Table{ID: cdc.TableID(number(row[0])), Schema: "public", Name: name, Enums: map[uint32][]string{}}
			tables[name], keys[t] = t, map[int]int{}
		}
		if at := number(row[9]); at >= 0 {
			keys[t][int(at)] = len(t.Columns)
		}
		column := cdc.Column{
			Name: string(row[2]), Type: uint32(number(row[3])), Modifier: int32(number(row[4])), Attr: int16(number(row[5])),
			NotNull: string(row[6]) == "t", Enum: string(row[7]) == "t",
		}
		column.Collate(string(row[11]), string(row[8]) == "t")
		if column.Enum {
			var labels []string
			if err := json.Unmarshal(row[12], &labels); err != nil {
				return nil, fmt.Errorf("read the labels of column %s: %w", column.Name, err)
			}
			t.Enums[column.Type] = labels
		}
		switch column.Type {
		case pgtype.IntervalOID:
			t.Omitted = append(t.Omitted, cdc.OmittedColumn{Column: column, Code: cdc.CodeUnsupportedType, Detail: "has type " + string(row[10])})
		default:
			t.Columns = append(t.Columns, column)
		}
	}
	for t, positions := range keys {
		for at := 0; len(t.Key) < len(positions); at++ {
			if column, ok := positions[at]; ok {
				t.Key = append(t.Key, column)
			}
		}
	}
	return tables, nil
}

// number parses PostgreSQL's own output of an integer.
func number(text []byte) int64 {
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("catalog holds %q where a number was asked", text))
	}
	return n
}

// physical says how a column's values are stored in the columnar engine: the engine's type, the expression by which
// PostgreSQL prints a value for loading, and the expression that the engine reads it with.
func physical(c cdc.Column, name string) (engineType, print, read string) {
	q := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	infinite := func(low, high, finite string) string {
		return fmt.Sprintf("CASE %s WHEN 'infinity' THEN %s WHEN '-infinity' THEN %s ELSE %s END", q, high, low, finite)
	}
	switch c.Type {
	case 16:
		return "Bool", q + "::text", ""
	case 21:
		return "Int16", q, ""
	case 23:
		return "Int32", q, ""
	case 20:
		return "Int64", q, ""
	case 700:
		return "Float32", q, ""
	case 701:
		return "Float64", q, ""
	case 1700:
		if precision, scale, ok := numericModifier(c.Modifier); ok {
			return fmt.Sprintf("Decimal(%d, %d)", precision, scale), q, ""
		}
		return "String", q, ""
	case 1082:
		return "Int32", infinite("-2147483648", "2147483647", q+" - date '1970-01-01'"), ""
	case 1114, 1184:
		return "Int64", infinite("-9223372036854775808", "9223372036854775807", "(extract(epoch from "+q+") * 1000000)::int8"), ""
	case 1083:
		return "Int64", "(extract(epoch from " + q + ") * 1000000)::int8", ""
	case 2950:
		return "FixedString(16)", "replace(" + q + "::text, '-', '')", "toFixedString(unhex(assumeNotNull(%s)), 16)"
	case 17:
		return "String", "encode(" + q + ", 'hex')", "unhex(assumeNotNull(%s))"
	default: // text and its kin; the cast strips bpchar's blanks
		return "String", q + "::text", ""
	}
}

// numericModifier unpacks a numeric's declared precision and scale, if an engine's Decimal has them.
func numericModifier(modifier int32) (precision, scale int, ok bool) {
	if modifier < 4 {
		return 0, 0, false
	}
	precision, scale = int((modifier-4)>>16&0xffff), int((modifier-4)&0x7ff)
	return precision, scale, precision <= 76 && scale <= precision
}
