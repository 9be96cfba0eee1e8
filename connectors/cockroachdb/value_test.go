package cockroachdb

import (
	"errors"
	"testing"

	"github.com/go-faster/jx"

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
		{typeBool, -1, `true`, "true"}, {typeBool, -1, `false`, "false"}, {typeBool, -1, `"t"`, ""},
		{typeInt2, -1, `-32768`, "-32768"}, {typeInt2, -1, `32768`, ""}, {typeInt4, -1, `2147483647`, "2147483647"}, {typeInt4, -1, `2147483648`, ""},
		{typeInt8, -1, `9223372036854775807`, "9223372036854775807"}, {typeInt8, -1, `9223372036854775808`, ""}, {typeInt8, -1, `1.5`, ""},
		{typeNumeric, numeric122, `120.50`, "120.50 (scale 2)"}, {typeNumeric, numeric122, `120.5`, "120.50 (scale 2)"}, {typeNumeric, numeric122, `120`, "120.00 (scale 2)"},
		{typeNumeric, numeric122, `-0.10`, "-0.10 (scale 2)"}, {typeNumeric, numeric122, `0.001`, ""}, {typeNumeric, numeric122, `0.1000`, "0.10 (scale 2)"},
		{typeNumeric, anyScale, `12345678901234567890.123456789012345678901234567890`, "12345678901234567890.123456789012345678901234567890 (scale 30)"},
		{typeNumeric, anyScale, `1E+3`, "1000 (scale 0)"}, {typeNumeric, anyScale, `1.2345E+2`, "123.45 (scale 2)"}, {typeNumeric, anyScale, `-1.5E-7`, "-0.00000015 (scale 8)"},
		{typeNumeric, anyScale, `0.00`, "0 (scale 2)"}, {typeNumeric, anyScale, `0`, "0 (scale 0)"}, {typeNumeric, anyScale, `100000000.0001`, "100000000.0001 (scale 4)"},
		{typeNumeric, anyScale, `"NaN"`, "NaN (scale 0)"}, {typeNumeric, anyScale, `"-Infinity"`, "-Infinity (scale 32)"}, {typeNumeric, anyScale, `"12a"`, ""},
		{typeNumeric, anyScale, `1E+999999`, ""}, {typeNumeric, anyScale, `1E-20000`, ""}, {typeNumeric, numeric122, `1.5E+3`, "1500.00 (scale 2)"},
		{typeFloat8, -1, `0.1`, "0.1"}, {typeFloat8, -1, `1E-7`, "1e-07"}, {typeFloat8, -1, `"NaN"`, "NaN"}, {typeFloat8, -1, `"-Infinity"`, "-Inf"},
		{typeFloat8, -1, `1.7976931348623157E+308`, "1.7976931348623157e+308"}, {typeFloat8, -1, `1E+999`, ""}, {typeFloat4, -1, `0.1`, "0.1"},
		{typeText, -1, `"h\"é\\u\n😀 \u20ac"`, "h\"é\\u\n😀 €"}, {typeText, -1, `""`, emptyText}, {typeText, -1, `5`, ""},
		{typeVarchar, -1, `"v"`, "v"}, {typeBPChar, -1, `"c  "`, "c  "}, {typeName, -1, `"n"`, "n"},
		{typeTimestampTZ, -1, `"2026-11-20T10:00:00.123456Z"`, "2026-11-20T10:00:00.123456Z"}, {typeTimestampTZ, -1, `"2026-11-20T10:00:00+05:30"`, "2026-11-20T04:30:00Z"},
		{typeTimestampTZ, -1, `"2026-11-20T10:00:00"`, ""}, {typeTimestampTZ, -1, `"infinity"`, "infinity"}, {typeTimestampTZ, -1, `"2026-02-29T10:00:00Z"`, ""},
		{typeTimestamp, -1, `"2026-11-20T10:00:00.5"`, "2026-11-20T10:00:00.5Z"}, {typeTimestamp, -1, `"2026-11-20T10:00:00Z"`, ""},
		{typeTimestamp, -1, `"0000-02-29T00:00:00"`, "0000-02-29T00:00:00Z"}, {typeTimestamp, -1, `"-0043-03-15T00:00:00"`, "-0043-03-15T00:00:00Z"},
		{typeTimestamp, -1, `"294276-12-31T23:59:59.999999"`, "294276-12-31T23:59:59.999999Z"}, {typeTimestamp, -1, `"294277-01-01T00:00:00"`, ""},
		{typeTimestamp, -1, `"2026-11-20T10:00:00.1234567"`, ""}, {typeTimestamp, -1, `"-infinity"`, "-infinity"},
		{typeDate, -1, `"2026-11-20"`, "2026-11-20T00:00:00Z"}, {typeDate, -1, `"0044-03-15 BC"`, "-0043-03-15T00:00:00Z"}, {typeDate, -1, `"infinity"`, "infinity"},
		{typeDate, -1, `"-infinity"`, "-infinity"}, {typeDate, -1, `"2026-13-01"`, ""}, {typeDate, -1, `"1900-02-29"`, ""}, {typeDate, -1, `"2000-02-29"`, "2000-02-29T00:00:00Z"},
		{typeTime, -1, `"04:05:06.789"`, "{14706789000 true}"}, {typeTime, -1, `"24:00:00"`, "{86400000000 true}"}, {typeTime, -1, `"24:00:01"`, ""},
		{typeUUID, -1, `"6f1c1b1e-0000-4000-8000-000000000001"`, "[111 28 27 30 0 0 64 0 128 0 0 0 0 0 0 1]"}, {typeUUID, -1, `"6f1c1b1e00004000-8000-000000000001"`, ""},
		{typeBytea, -1, `"\\xdeadbeef"`, "[222 173 190 239]"}, {typeBytea, -1, `"\\x"`, emptyText}, {typeBytea, -1, `"3q2+7w=="`, ""},
		{typeJSONB, -1, `{"b":[1,2.50], "a":"x: \"y, z\""}`, `{"b": [1, 2.50], "a": "x: \"y, z\""} map[a:x: "y, z" b:[1 2.5]]`},
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
	var v valueDecoder
	d := jx.DecodeStr(json)
	_, datum, err := v.value(d, col, nil)
	return datum, err
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
		got, err := decodeOne(c.json, &cdc.Column{Type: typeJSONB, NotNull: c.notNull})
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
