package translate_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/translate"
)

// ledger is a catalog as a CockroachDB source has it.
type ledger struct{}

func (ledger) Table(_ []string, _, name string) (*cdc.Table, bool) {
	column := func(attr int16, name string, oid uint32, mod int32, notNull bool) cdc.Column {
		return cdc.Column{Name: name, Type: oid, Modifier: mod, NotNull: notNull, Attr: attr, BytewiseCollation: true}
	}
	columns := []cdc.Column{
		column(1, "id", pgtype.Int8OID, -1, true), column(2, "owner", pgtype.TextOID, -1, true), column(3, "note", pgtype.VarcharOID, -1, false),
		column(4, "amount", pgtype.NumericOID, numeric12d2, true), column(5, "tax", pgtype.NumericOID, 20<<16|8+4, true), column(6, "free", pgtype.NumericOID, -1, true),
		column(7, "day", pgtype.DateOID, -1, true), column(8, "at", pgtype.TimestampOID, -1, true), column(9, "zoned", pgtype.TimestamptzOID, -1, true),
		column(10, "open", pgtype.BoolOID, -1, true), column(11, "small", pgtype.Int4OID, -1, true), column(12, "rate", pgtype.Float8OID, -1, true),
		column(13, "code", pgtype.BPCharOID, 8, true), column(14, "key", pgtype.UUIDOID, -1, true), column(15, "seen", pgtype.DateOID, -1, false),
	}
	tables := map[string]*cdc.Table{
		"entry": {ID: 1, Schema: "public", Name: "entry", Key: []int{0}, Columns: columns},
		"other": {ID: 2, Schema: "public", Name: "other", Key: []int{0}, Columns: columns},
	}
	t, ok := tables[name]
	return t, ok
}

func translateFor(t *testing.T, dialect translate.Dialect, sql string, params []string, oids []uint32) error {
	t.Helper()
	tree, err := syntax.Parse(sql)
	if err != nil {
		t.Fatal(err)
	}
	env := translate.Env{Catalog: ledger{}, SearchPath: []string{"public"}, TimeZone: "UTC", Traits: translate.Traits{BytewiseCollation: true}, Dialect: dialect}
	for i, oid := range oids {
		env.Fields = append(env.Fields, translate.Field{Name: fmt.Sprintf("f%d", i+1), TypeOID: oid, Modifier: -1})
	}
	for _, p := range params {
		env.ParamOIDs = append(env.ParamOIDs, pgtype.Int8OID)
		env.Params = append(env.Params, translate.Param{Value: []byte(p)})
	}
	_, err = translate.Translate(tree, env)
	return err
}

func TestDialect_takesWhatBothDatabasesMeanAlike(t *testing.T) {
	const i8, text, numeric, date = pgtype.Int8OID, pgtype.TextOID, pgtype.NumericOID, pgtype.DateOID
	for _, c := range []struct {
		sql    string
		params []string
		oids   []uint32
	}{
		{"SELECT count(*) FROM entry", nil, []uint32{i8}},
		{"SELECT owner, count(*) AS n, sum(amount), min(day), max(id) FROM entry WHERE open AND NOT amount > 10.5 GROUP BY owner HAVING sum(amount) > 100 ORDER BY n DESC, owner LIMIT 10",
			nil, []uint32{text, i8, numeric, date, i8}},
		{"SELECT sum(id), count(DISTINCT note) FROM entry WHERE day >= DATE '2026-01-01' AND day < '2026-02-01' AND at <= '2026-01-01 10:00:00.5'", nil, []uint32{numeric, i8}},
		{"SELECT e.id, o.owner FROM entry e JOIN other o ON e.id = o.id WHERE e.owner IN ('a', 'b') AND e.id BETWEEN 1 AND 9 ORDER BY 1", nil, []uint32{i8, text}},
		{"SELECT e.id, o.seen FROM entry e LEFT JOIN other o ON e.id = o.id ORDER BY o.seen NULLS LAST, e.id", nil, []uint32{i8, date}},
		{"SELECT id FROM entry WHERE id > $1 AND note IS NOT NULL AND key = '6f1c1b1e-0000-4000-8000-000000000001'", []string{"5"}, []uint32{i8}},
		{"SELECT DISTINCT owner FROM public.entry", nil, []uint32{text}},
	} {
		if err := translateFor(t, translate.CockroachDB, c.sql, c.params, c.oids); err != nil {
			t.Errorf("%s: %v", c.sql, err)
		}
	}
}

// Each of these has a translation for PostgreSQL.
func TestDialect_refusesWhatCockroachDBMayMeanOtherwise(t *testing.T) {
	const i8, i4, text, numeric, float, date = pgtype.Int8OID, pgtype.Int4OID, pgtype.TextOID, pgtype.NumericOID, pgtype.Float8OID, pgtype.DateOID
	for _, c := range []struct {
		name, sql string
		params    []string
		oids      []uint32
	}{
		{"division of integers", "SELECT id / 2 FROM entry", nil, []uint32{i8}},
		{"division in a condition", "SELECT id FROM entry WHERE id / 2 = 3", nil, []uint32{i8}},
		{"addition", "SELECT id + 1 FROM entry", nil, []uint32{i8}},
		{"average", "SELECT avg(amount) FROM entry", nil, []uint32{numeric}},
		{"sum of narrow integers", "SELECT sum(small) FROM entry", nil, []uint32{i8}},
		{"narrow integer", "SELECT id FROM entry WHERE small = 3", nil, []uint32{i8}},
		{"float", "SELECT rate FROM entry", nil, []uint32{float}},
		{"char's blanks", "SELECT id FROM entry WHERE code = 'a'", nil, []uint32{i8}},
		{"timestamptz", "SELECT id FROM entry WHERE zoned > '2026-01-01'", nil, []uint32{i8}},
		{"decimal with many places", "SELECT max(tax) FROM entry", nil, []uint32{numeric}},
		{"decimal without scale", "SELECT free FROM entry", nil, []uint32{numeric}},
		{"where NULLs come", "SELECT id FROM entry ORDER BY seen", nil, []uint32{i8}},
		{"where NULLs of a join come", "SELECT e.id FROM entry e LEFT JOIN other o ON e.id = o.id ORDER BY o.id", nil, []uint32{i8}},
		{"where NULLs of an aggregate come", "SELECT max(seen) FROM entry GROUP BY owner ORDER BY 1", nil, []uint32{date}},
		{"another type's constant", "SELECT id FROM entry WHERE id > 1.5", nil, []uint32{i8}},
		{"date and timestamp", "SELECT id FROM entry WHERE day = at", nil, []uint32{i8}},
		{"constant with blanks", "SELECT id FROM entry WHERE id = ' 5'", nil, []uint32{i8}},
		{"parameter with blanks", "SELECT id FROM entry WHERE id > $1", []string{" 5"}, []uint32{i8}},
		{"boolean in another form", "SELECT id FROM entry WHERE open = 'yes'", nil, []uint32{i8}},
		{"date arithmetic", "SELECT id FROM entry WHERE day < DATE '2026-01-01' + 1", nil, []uint32{i8}},
		{"constant in the output", "SELECT id, 1 FROM entry", nil, []uint32{i8, i4}},
		{"function", "SELECT id FROM entry WHERE upper(owner) = 'A'", nil, []uint32{i8}},
		{"pattern", "SELECT id FROM entry WHERE owner LIKE 'a%'", nil, []uint32{i8}},
		{"CASE", "SELECT id FROM entry WHERE CASE WHEN open THEN id = 1 ELSE id = 2 END", nil, []uint32{i8}},
		{"subquery", "SELECT id FROM entry WHERE id IN (SELECT id FROM other)", nil, []uint32{i8}},
		{"subquery in FROM", "SELECT id FROM (SELECT id FROM entry) x", nil, []uint32{i8}},
		{"WITH", "WITH x AS (SELECT id FROM entry) SELECT id FROM x", nil, []uint32{i8}},
		{"UNION", "SELECT id FROM entry UNION SELECT id FROM other", nil, []uint32{i8}},
		{"window", "SELECT count(*) OVER () FROM entry", nil, []uint32{i8}},
		{"USING", "SELECT count(*) FROM entry JOIN other USING (id)", nil, []uint32{i8}},
		{"DISTINCT ON", "SELECT DISTINCT ON (owner) owner FROM entry ORDER BY owner", nil, []uint32{text}},
		{"GROUP BY of an output's name", "SELECT owner AS note, count(*) FROM entry GROUP BY note, owner", nil, []uint32{text, i8}},
		{"GROUP BY of an expression", "SELECT count(*) FROM entry GROUP BY id % 2", nil, []uint32{i8}},
		{"sorting by an expression", "SELECT id FROM entry ORDER BY -id", nil, []uint32{i8}},
		{"aggregate's filter", "SELECT count(*) FILTER (WHERE open) FROM entry", nil, []uint32{i8}},
		{"row comparison", "SELECT id FROM entry WHERE (id, owner) > (1, 'a')", nil, []uint32{i8}},
		{"a name that may be folded", "SELECT id AS É FROM entry", nil, []uint32{i8}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := translateFor(t, translate.PostgreSQL, c.sql, c.params, c.oids); err != nil {
				t.Fatalf("it has no translation for PostgreSQL either: %v", err)
			}
			if _, ok := translate.AsUnsupported(translateFor(t, translate.CockroachDB, c.sql, c.params, c.oids)); !ok {
				t.Errorf("%s was translated", c.sql)
			}
		})
	}
}
