package server_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

const readings = `CREATE TABLE reading (id int PRIMARY KEY, big bigint, small smallint, name text, short varchar(8), code char(4), price numeric(9,2),
	day date, at timestamp, seen timestamptz, token uuid, good boolean);
INSERT INTO reading SELECT i, i * 5000000000, i % 9, 'n' || i % 7, 's' || i % 3, 'c' || i % 4, i * 0.25, date '2024-01-01' + i % 30,
	timestamp '2024-01-01' + i * interval '1 hour', timestamptz '2024-01-01 00:00+00' + i * interval '1 hour', md5((i % 40)::text)::uuid, i % 2 = 0
	FROM generate_series(1, 120) i;
INSERT INTO reading (id) VALUES (0);
INSERT INTO reading (id, name, short, code) VALUES (-1, '', 'NULL', ''), (-2, 'a,"b\', 'x y', 'ä')`

// Arrays arrive in either format, of the type that PostgreSQL finds or of the one that the driver declares.
func TestGateway_takesArraysAsParameters(t *testing.T) {
	t.Parallel()
	g := start(t, readings)
	columnar, oltp := g.routes()
	arrays := []struct {
		column, cast string
		oids         []uint32
		texts        []string
	}{
		{"id", "int[]", []uint32{0, pgtype.Int4ArrayOID, pgtype.Int8ArrayOID, pgtype.Int2ArrayOID}, []string{"{1,2,3}", "{}", "{5,NULL,7}", "{NULL}"}},
		{"big", "bigint[]", []uint32{0, pgtype.Int4ArrayOID, pgtype.Int8ArrayOID}, []string{"{1,2,0}"}},
		{"big", "bigint[]", []uint32{0, pgtype.Int8ArrayOID}, []string{"{5000000000,-1}"}},
		{"small", "numeric[]", []uint32{0, pgtype.Int4ArrayOID, pgtype.NumericArrayOID}, []string{"{1,2,300}"}},
		{"name", "text[]", []uint32{0, pgtype.TextArrayOID, pgtype.VarcharArrayOID}, []string{`{n1,"n2",""}`, `{"a,\"b\\",NULL}`}},
		{"short", "varchar[]", []uint32{0, pgtype.TextArrayOID, pgtype.VarcharArrayOID}, []string{`{s1,"NULL","x y"}`}},
		{"code", "text[]", []uint32{0, pgtype.TextArrayOID, pgtype.BPCharArrayOID, pgtype.VarcharArrayOID}, []string{`{c1,"c2  ","ä",""}`}},
		{"price", "numeric[]", []uint32{0, pgtype.NumericArrayOID, pgtype.Int4ArrayOID}, []string{"{1,2}"}},
		{"price", "numeric[]", []uint32{0, pgtype.NumericArrayOID}, []string{"{0.25,1.5,2.000,-7.123}"}},
		{"day", "date[]", []uint32{0, pgtype.DateArrayOID}, []string{"{2024-01-05,1999-12-31}"}},
		{"day", "timestamp[]", []uint32{pgtype.TimestampArrayOID}, []string{`{"2024-01-05 00:00:00","2024-01-06 00:00:01"}`}},
		{"at", "timestamp[]", []uint32{0, pgtype.TimestampArrayOID}, []string{`{"2024-01-05 00:00:00","2024-01-06 12:00:00.5"}`}},
		{"at", "date[]", []uint32{pgtype.DateArrayOID}, []string{"{2024-01-05,2024-01-06}"}},
		{"seen", "timestamptz[]", []uint32{0, pgtype.TimestamptzArrayOID}, []string{`{"2024-01-02 03:00:00+00","2024-01-02 03:30:00+00"}`}},
		{"token", "uuid[]", []uint32{0, pgtype.UUIDArrayOID}, []string{"{c4ca4238-a0b9-2382-0dcc-509a6f75849b,00000000-0000-0000-0000-000000000000}"}},
		{"good", "boolean[]", []uint32{0, pgtype.BoolArrayOID}, []string{"{true}", "{f,t}"}},
	}
	types := pgtype.NewMap()
	for _, a := range arrays {
		for _, condition := range []string{" = ANY ($1)", " <> ALL ($1)", " = ANY ($1::" + a.cast + ")", " = ALL ($1)", " < ANY ($1)"} {
			if condition == " < ANY ($1)" && (a.cast == "uuid[]" || a.cast == "boolean[]" || a.cast == "text[]" || a.cast == "varchar[]") {
				continue
			}
			sql := "SELECT id FROM reading WHERE " + a.column + condition + " ORDER BY id"
			for _, oid := range a.oids {
				for _, text := range a.texts {
					for _, format := range []int16{pgx.TextFormatCode, pgx.BinaryFormatCode} {
						value := []byte(text)
						if format == pgx.BinaryFormatCode {
							value = binaryArray(t, types, columnar, sql, oid, text)
						}
						want, got := bound(t, oltp, sql, value, oid, format), bound(t, columnar, sql, value, oid, format)
						if !slices.Equal(got, want) {
							t.Errorf("%s with %s of type %d in format %d: %v, PostgreSQL says %v", sql, text, oid, format, got, want)
						}
					}
				}
			}
		}
	}
	const nothing = "SELECT id FROM reading WHERE id = ANY ($1) IS NULL"
	if want, got := bound(t, oltp, nothing, nil, 0, 0), bound(t, columnar, nothing, nil, 0, 0); len(want) != 123 || !slices.Equal(sorted(got), sorted(want)) {
		t.Errorf("of no array: %d rows, PostgreSQL says %d", len(got), len(want))
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// binaryArray encodes an array for a parameter; 0 is the type that PostgreSQL finds.
func binaryArray(t *testing.T, types *pgtype.Map, conn *pgx.Conn, sql string, oid uint32, text string) []byte {
	t.Helper()
	if oid == 0 {
		d, err := conn.PgConn().Prepare(t.Context(), "", sql, nil)
		if err != nil {
			t.Fatal(err)
		}
		oid = d.ParamOIDs[0]
	}
	array, ok := types.TypeForOID(oid)
	if !ok {
		t.Fatalf("type %d is unknown", oid)
	}
	v, err := array.Codec.DecodeValue(types, oid, pgx.TextFormatCode, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	value, err := types.Encode(oid, pgx.BinaryFormatCode, v, nil)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// bound runs a statement with one parameter and returns the first column.
func bound(t *testing.T, conn *pgx.Conn, sql string, value []byte, oid uint32, format int16) []string {
	t.Helper()
	r := conn.PgConn().ExecParams(t.Context(), sql, [][]byte{value}, []uint32{oid}, []int16{format}, nil).Read()
	if r.Err != nil {
		t.Fatalf("%s with %q of type %d in format %d: %v", sql, value, oid, format, r.Err)
	}
	out := []string{}
	for _, row := range r.Rows {
		out = append(out, string(row[0]))
	}
	return out
}

func TestGateway_readsArraysAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TYPE mood AS ENUM ('sad', 'ok', 'two words')", readings,
		"ALTER TABLE reading ADD COLUMN mood mood; UPDATE reading SET mood = CASE id % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'two words' END::mood")
	columnar, oltp := g.routes()
	for _, condition := range []string{
		"id = ANY ('{1, 2 ,3}')", "id = ANY (' { 1,2 } ')", "id = ANY ('{}')", "id <> ALL ('{ }'::int[])", "id = ANY (NULL)", "id <> ALL (NULL::int[]) IS NULL",
		"(id = ANY ('{1,null}')) IS NULL", "id = ANY ('{1,2}'::bigint[])", "id = ANY ('{1,2.5}'::numeric[])", "big = ANY (ARRAY[5000000000, 1])", "5 = ANY (ARRAY[id, small])",
		"small = ANY (ARRAY[1.0, 2.5])", "id = ANY (ARRAY['1', '2']::int[])", "id = ANY ((ARRAY[1, 2])::smallint[])",
		`name = ANY ('{n1,"n2", n3 }')`, `name = ANY ('{ "a,\"b\\" }')`, `name = ANY ('{"", "NULL"}')`, "short = ANY ('{NULL}')", `short = ANY ('{"NULL"}')`, `short = ANY ('{nUlL}')`,
		"short = ANY (ARRAY['s1', 's2']::varchar(1)[])", "short = ANY ((ARRAY['s1'::character varying, 's2'::character varying])::text[])", "short < ALL (ARRAY['t', NULL]) IS NULL",
		"code = ANY (ARRAY['c1 '])", "code = ANY ('{\"c1 \"}')", "code = ANY (ARRAY['c1  '::char(4)])", "code = ANY ('{c1,c2}'::bpchar[])", "code <> ALL (ARRAY['c1', 'c2']::text[])",
		"code LIKE ANY (ARRAY['c1  ', 'c2'])", "code LIKE ANY (ARRAY['c1%'])", "name LIKE ALL (ARRAY['n%', '%1'])", "name NOT LIKE ALL (ARRAY['n%', NULL]) IS NULL", "short ILIKE ANY ('{S1,%2}')",
		"name NOT ILIKE ANY (ARRAY['N1', 'x'])", `name ~ ANY ('{"^n[12]$", 3}')`, "name !~ ALL (ARRAY['1', '2'])", "code ~* ANY (ARRAY['^C1 +$', 'zz'])",
		"price > ANY ('{20, 25.5}')", "price = ALL ('{1,1.00}')", "price <= ALL (ARRAY[3, 2.5, id])", "day >= ANY ('{2024-01-20}')", "day < ALL ('{\"2024-01-02 00:00:00\"}'::timestamp[])",
		"at = ANY ('{\"2024-01-01 05:00:00\", 2024-01-02}')", "seen <> ALL ('{2024-01-01T05:00:00Z}')", "token = ANY ('{c4ca4238-a0b9-2382-0dcc-509a6f75849b}')", "good = ANY ('{t}')", "good <> ALL ('{yes,f}')",
		`mood = ANY ('{sad,"two words"}')`, "mood <> ALL ('{sad}')", "mood = ANY ('{NULL,ok}') IS NULL", "NOT (id = ANY ('{1,2}') AND name LIKE ANY (ARRAY['n1', 'n2']))",
		"CASE WHEN id = ANY ('{1,2,NULL}') THEN 1 ELSE 2 END = 2", "id = ANY ('{1,2}') OR EXISTS (SELECT FROM reading r WHERE r.id = reading.small AND r.name = ANY ('{n3}'))",
	} {
		wantSameAnswer(t, columnar, oltp, "SELECT id FROM reading WHERE "+condition+" ORDER BY id")
	}
	for _, sql := range []string{
		"SELECT count(*), count(o.id), count(o.name) FROM reading r LEFT JOIN reading o ON r.id = o.id AND o.small = ANY ('{1,2}') AND r.name ~ '[1-3]$'",
		"SELECT count(*), count(o.id), count(r.id) FROM reading r FULL JOIN reading o ON r.id = o.small AND o.name ~ ANY (ARRAY['1', '5'])",
		"SELECT count(*), count(o.id), count(r.id) FROM reading r JOIN reading o ON r.id = ANY (ARRAY[o.small])",
		"SELECT name ~ '^n[1-3]$' AS low, count(*), count(DISTINCT (small, good)), bit_xor(id) FROM reading GROUP BY low ORDER BY low",
		"SELECT small = ANY ('{1,2,NULL}') AS few, count(*) FROM reading GROUP BY 1 HAVING bool_or(name LIKE ANY (ARRAY['n1', 'n2'])) ORDER BY few",
		"SELECT count(*) FILTER (WHERE name = ANY ('{n1,n2}')), count(*) FILTER (WHERE code ~* '^c[0-2] '), count(DISTINCT (NULL::int, id > 5)) FROM reading",
		"SELECT count(DISTINCT (name, day)), count(DISTINCT ROW(day)), bit_and(small), bit_or(big) FILTER (WHERE id < 0) FROM reading WHERE id <> ALL ('{3,4}')",
		"SELECT DISTINCT id, nth_value(small, 3) OVER (PARTITION BY good ORDER BY id), nth_value(name, 2) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM reading ORDER BY id",
	} {
		wantSameAnswer(t, columnar, oltp, sql)
	}
}

func TestGateway_takesLists(t *testing.T) {
	t.Parallel()
	g := start(t, readings)
	columnar, _ := g.routes()
	var n int
	err := columnar.QueryRow(t.Context(), "SELECT count(*) FROM reading WHERE id = ANY ($1) AND name <> ALL ($2) AND price > ANY ($3)",
		[]int{1, 2, 3, 4}, []string{"n1", "it's", `"`}, []float64{0.25, 1}).Scan(&n)
	if err != nil || n != 3 {
		t.Errorf("count is %d, %v; want 3", n, err)
	}
}

// PostgreSQL drops the digits of a numeric that its scale hides, however they would round.
func TestGateway_takesNumericsWithHiddenDigits(t *testing.T) {
	t.Parallel()
	g := start(t, readings)
	columnar, oltp := g.routes()
	for _, value := range []string{
		"\x00\x02\x00\x00\x00\x00\x00\x01\x00\x07\x15\xb3", // 7.5555, of which one digit shows
		"\x00\x02\x00\x00\x40\x00\x00\x01\x00\x07\x15\xb3",
		"\x00\x01\xff\xff\x40\x00\x00\x03\x00\x05", // -0.0005, of which three do
		"\x00\x01\xff\xff\x00\x00\x00\x00\x27\x0f",
		"\x00\x01\x00\x00\x00\x00\x00\x02\x00\x07",
	} {
		const sql = "SELECT $1 + price FROM reading ORDER BY id"
		want, got := bound(t, oltp, sql, []byte(value), pgtype.NumericOID, pgx.BinaryFormatCode), bound(t, columnar, sql, []byte(value), pgtype.NumericOID, pgx.BinaryFormatCode)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("with %q (-want +got):\n%s", value, d)
		}
	}
}
