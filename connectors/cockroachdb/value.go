package cockroachdb

import (
	"encoding/hex"
	"fmt"

	"github.com/go-faster/jx"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/jsonrow"
)

// supported reports whether values of a type can be decoded. CockroachDB's types carry PostgreSQL's OIDs: INT is int8, STRING text,
// DECIMAL numeric. Enumerations can be, whatever their type.
func supported(typ uint32) bool {
	switch typ {
	case pgtype.BoolOID, pgtype.ByteaOID, pgtype.QCharOID, pgtype.NameOID, pgtype.Int8OID, pgtype.Int2OID, pgtype.Int4OID, pgtype.TextOID,
		pgtype.Float4OID, pgtype.Float8OID, pgtype.BPCharOID, pgtype.VarcharOID, pgtype.DateOID, pgtype.TimeOID, pgtype.TimestampOID,
		pgtype.TimestamptzOID, pgtype.NumericOID, pgtype.UUIDOID, pgtype.JSONBOID:
		return true
	}
	return false
}

// values decodes JSON values as a changefeed writes them. It implements [jsonrow.Values].
type values struct{ scalars jsonrow.Scalars }

// Append implements [jsonrow.Values]. A jsonb column without NULLs may have the JSON value null.
func (v *values) Append(d *jx.Decoder, col *cdc.Column, b []byte) ([]byte, cdc.DatumKind, error) {
	if d.Next() == jx.Null && (col.Type != pgtype.JSONBOID || !col.NotNull) {
		return b, cdc.Null, d.Null()
	}
	b, err := v.append(d, col, b)
	return b, cdc.Binary, err
}

func (v *values) append(d *jx.Decoder, col *cdc.Column, b []byte) ([]byte, error) {
	switch {
	case col.Enum:
		return v.scalars.Append(d, col, b)
	case col.Type == pgtype.JSONBOID:
		return appendJSONB(d, b)
	}
	var read func(b, text []byte) ([]byte, error)
	switch col.Type {
	case pgtype.TimestampOID:
		read = appendTimestamp
	case pgtype.TimestamptzOID:
		read = appendInstant
	case pgtype.DateOID:
		read = appendDate
	case pgtype.TimeOID:
		read = appendTime
	case pgtype.ByteaOID:
		read = appendBytea
	default:
		return v.scalars.Append(d, col, b)
	}
	text, err := v.scalars.String(d)
	if err != nil {
		return b, err
	}
	return read(b, text)
}

// appendBytea reads bytes as "\x…".
func appendBytea(b, text []byte) ([]byte, error) {
	if len(text) < 2 || text[0] != '\\' || text[1] != 'x' {
		return b, fmt.Errorf("%w: bytes are not in hexadecimal form", jsonrow.ErrMisfit)
	}
	b, err := hex.AppendDecode(b, text[2:])
	if err != nil {
		return b, jsonrow.ErrMisfit
	}
	return b, nil
}

// appendJSONB appends a document as SQL prints it: a blank after each colon and comma, none elsewhere. Keys keep
// their order, which is the database's.
func appendJSONB(d *jx.Decoder, b []byte) ([]byte, error) {
	raw, err := d.Raw()
	if err != nil {
		return b, err
	}
	start := len(b)
	b = append(b, 1) // the version of the format
	inString := false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inString && c == '\\':
			b = append(b, c)
			i++
			c = raw[i]
		case c == '"':
			inString = !inString
		case inString:
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			continue
		case c == ':' || c == ',':
			b = append(b, c)
			c = ' '
		}
		b = append(b, c)
	}
	if string(b[start+1:]) == jsonNull {
		b = append(b[:start+1], "null"...)
	}
	return b, nil
}

// jsonNull stands for the JSON value null, which is not SQL's NULL, with the option encode_json_value_null_as_object.
const jsonNull = `{"__crdb_json_null__": true}`
