package cockroachdb

import (
	"errors"
	"testing"

	"github.com/go-faster/jx"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestValue_isDecodedExactly(t *testing.T) {
	const anyScale = -1
	for _, c := range []struct {
		typ      uint32
		modifier int32
		json     string
		want     string // as PostgreSQL prints it; empty for a misfit
	}{
		{pgtype.BoolOID, -1, `true`, "true"}, {pgtype.BoolOID, -1, `false`, "false"}, {pgtype.BoolOID, -1, `"t"`, ""},
		{pgtype.Int2OID, -1, `-32768`, "-32768"}, {pgtype.Int2OID, -1, `32768`, ""}, {pgtype.Int4OID, -1, `2147483647`, "2147483647"}, {pgtype.Int4OID, -1, `2147483648`, ""},
		{pgtype.Int8OID, -1, `9223372036854775807`, "9223372036854775807"}, {pgtype.Int8OID, -1, `9223372036854775808`, ""}, {pgtype.Int8OID, -1, `1.5`, ""},
		{pgtype.NumericOID, numeric122, `120.50`, "120.50 (scale 2)"}, {pgtype.NumericOID, numeric122, `120.5`, "120.50 (scale 2)"}, {pgtype.NumericOID, numeric122, `120`, "120.00 (scale 2)"},
		{pgtype.NumericOID, numeric122, `-0.10`, "-0.10 (scale 2)"}, {pgtype.NumericOID, numeric122, `0.001`, ""}, {pgtype.NumericOID, numeric122, `0.1000`, "0.10 (scale 2)"},
		{pgtype.NumericOID, anyScale, `12345678901234567890.123456789012345678901234567890`, "12345678901234567890.123456789012345678901234567890 (scale 30)"},
		{pgtype.NumericOID, anyScale, `1E+3`, "1000 (scale 0)"}, {pgtype.NumericOID, anyScale, `1.2345E+2`, "123.45 (scale 2)"}, {pgtype.NumericOID, anyScale, `-1.5E-7`, "-0.00000015 (scale 8)"},
		{pgtype.NumericOID, anyScale, `0.00`, "0 (scale 2)"}, {pgtype.NumericOID, anyScale, `0`, "0 (scale 0)"}, {pgtype.NumericOID, anyScale, `100000000.0001`, "100000000.0001 (scale 4)"},
		{pgtype.NumericOID, anyScale, `"NaN"`, "NaN (scale 0)"}, {pgtype.NumericOID, anyScale, `"-Infinity"`, "-Infinity (scale 32)"}, {pgtype.NumericOID, anyScale, `"12a"`, ""},
		{pgtype.NumericOID, anyScale, `1E+999999`, ""}, {pgtype.NumericOID, anyScale, `1E-20000`, ""}, {pgtype.NumericOID, numeric122, `1.5E+3`, "1500.00 (scale 2)"},
		{pgtype.Float8OID, -1, `0.1`, "0.1"}, {pgtype.Float8OID, -1, `1E-7`, "1e-07"}, {pgtype.Float8OID, -1, `"NaN"`, "NaN"}, {pgtype.Float8OID, -1, `"-Infinity"`, "-Inf"},
		{pgtype.Float8OID, -1, `1.7976931348623157E+308`, "1.7976931348623157e+308"}, {pgtype.Float8OID, -1, `1E+999`, ""}, {pgtype.Float4OID, -1, `0.1`, "0.1"},
		{pgtype.TextOID, -1, `"h\"é\\u\n😀 \u20ac"`, "h\"é\\u\n😀 €"}, {pgtype.TextOID, -1, `""`, emptyText}, {pgtype.TextOID, -1, `5`, ""},
		{pgtype.VarcharOID, -1, `"v"`, "v"}, {pgtype.BPCharOID, -1, `"c  "`, "c  "}, {pgtype.NameOID, -1, `"n"`, "n"},
		{pgtype.TimestamptzOID, -1, `"2026-11-20T10:00:00.123456Z"`, "2026-11-20T10:00:00.123456Z"}, {pgtype.TimestamptzOID, -1, `"2026-11-20T10:00:00+05:30"`, "2026-11-20T04:30:00Z"},
		{pgtype.TimestamptzOID, -1, `"2026-11-20T10:00:00"`, ""}, {pgtype.TimestamptzOID, -1, `"infinity"`, "infinity"}, {pgtype.TimestamptzOID, -1, `"2026-02-29T10:00:00Z"`, ""},
		{pgtype.TimestampOID, -1, `"2026-11-20T10:00:00.5"`, "2026-11-20T10:00:00.5Z"}, {pgtype.TimestampOID, -1, `"2026-11-20T10:00:00Z"`, ""},
		{pgtype.TimestampOID, -1, `"0000-02-29T00:00:00"`, "0000-02-29T00:00:00Z"}, {pgtype.TimestampOID, -1, `"-0043-03-15T00:00:00"`, "-0043-03-15T00:00:00Z"},
		{pgtype.TimestampOID, -1, `"294276-12-31T23:59:59.999999"`, "294276-12-31T23:59:59.999999Z"}, {pgtype.TimestampOID, -1, `"294277-01-01T00:00:00"`, ""},
		{pgtype.TimestampOID, -1, `"2026-11-20T10:00:00.1234567"`, ""}, {pgtype.TimestampOID, -1, `"-infinity"`, "-infinity"},
		{pgtype.DateOID, -1, `"2026-11-20"`, "2026-11-20T00:00:00Z"}, {pgtype.DateOID, -1, `"0044-03-15 BC"`, "-0043-03-15T00:00:00Z"}, {pgtype.DateOID, -1, `"infinity"`, "infinity"},
		{pgtype.DateOID, -1, `"-infinity"`, "-infinity"}, {pgtype.DateOID, -1, `"2026-13-01"`, ""}, {pgtype.DateOID, -1, `"1900-02-29"`, ""}, {pgtype.DateOID, -1, `"2000-02-29"`, "2000-02-29T00:00:00Z"},
		{pgtype.TimeOID, -1, `"04:05:06.789"`, "{14706789000 true}"}, {pgtype.TimeOID, -1, `"24:00:00"`, "{86400000000 true}"}, {pgtype.TimeOID, -1, `"24:00:01"`, ""},
		{pgtype.UUIDOID, -1, `"6f1c1b1e-0000-4000-8000-000000000001"`, "[111 28 27 30 0 0 64 0 128 0 0 0 0 0 0 1]"}, {pgtype.UUIDOID, -1, `"6f1c1b1e00004000-8000-000000000001"`, ""},
		{pgtype.ByteaOID, -1, `"\\xdeadbeef"`, "[222 173 190 239]"}, {pgtype.ByteaOID, -1, `"\\x"`, emptyText}, {pgtype.ByteaOID, -1, `"3q2+7w=="`, ""},
		{pgtype.JSONBOID, -1, `{"b":[1,2.50], "a":"x: \"y, z\""}`, `{"b": [1, 2.50], "a": "x: \"y, z\""} map[a:x: "y, z" b:[1 2.5]]`},
		{1186, -1, `"01:00:00"`, ""},
	} {
		col := cdc.Column{Name: "c", Type: c.typ, Modifier: c.modifier}
		got, err := decodeOne(c.json, &col)
		switch {
		case c.want == emptyText && err == nil && len(got.Data) == 0:
		case c.want == "" && err == nil:
			t.Errorf("type %d: %s was taken as %s", c.typ, c.json, show(col, got))
		case c.want == "":
		case err != nil:
			t.Errorf("type %d: %s: %v", c.typ, c.json, err)
		case show(col, got) != c.want:
			t.Errorf("type %d: %s was taken as %s, want %s", c.typ, c.json, show(col, got), c.want)
		}
	}
}

const emptyText = "(empty)"

func decodeOne(json string, col *cdc.Column) (cdc.Datum, error) {
	var v values
	b, kind, err := v.Append(jx.DecodeStr(json), col, nil)
	if err != nil || kind != cdc.Binary {
		return cdc.Datum{Kind: kind}, err
	}
	return cdc.Datum{Kind: kind, Data: b}, nil
}

func TestValue_tellsTheNullsApart(t *testing.T) {
	for _, c := range []struct {
		json    string
		notNull bool
		want    cdc.DatumKind
		text    string
	}{
		{`null`, false, cdc.Null, ""},
		{`null`, true, cdc.Binary, "\x01null"},
		{`{"__crdb_json_null__":true}`, false, cdc.Binary, "\x01null"},
	} {
		got, err := decodeOne(c.json, &cdc.Column{Type: pgtype.JSONBOID, NotNull: c.notNull})
		if err != nil || got.Kind != c.want || string(got.Data) != c.text {
			t.Errorf("%s, NOT NULL %t: %v %q, error %v", c.json, c.notNull, got.Kind, got.Data, err)
		}
	}
	enum := &cdc.Column{Type: 100051, Enum: true}
	if got, err := decodeOne(`"happy"`, enum); err != nil || string(got.Data) != "happy" {
		t.Errorf("enum: %q, error %v", got.Data, err)
	}
}

func TestEnvelope_namesTheOptionThatIsMissing(t *testing.T) {
	for message, want := range map[string]error{
		`{"after": {"id": 1}, "updated": "1.0000000000"}`:                                                               errNoBefore,
		`{"after": {"id": 1}, "before": null}`:                                                                          errNoUpdated,
		`{"id": 1, "__crdb__": {"updated": "1.0000000000"}}`:                                                            errNoAfter,
		`{"after": null, "before": null, "updated": "x"}`:                                                               errHLC,
		`{"after": null, "before": null, "updated": "1.1"}`:                                                             errHLC,
		`{"after": null, "before": null, "updated": "1.0000000000"}`:                                                    nil,
		`{"resolved": "9223372036854775807.2147483647"}`:                                                                nil,
		`{"resolved": "9223372036854775808.0000000000"}`:                                                                errHLC,
		`{"payload": {"after": {}, "before": null, "source": {"ts_hlc": "5.0000000001", "job_id": "7"}}, "schema": {}}`: nil,
	} {
		var e envelopeDecoder
		if _, err := e.decode([]byte(message)); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s: error %v, want %v", message, err, want)
		}
	}
}
