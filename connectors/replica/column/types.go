package column

import (
	"fmt"

	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/connectors/arraytext"
	"github.com/freshet-io/freshet/connectors/cdc"
)

// PostgreSQL's type OIDs that a replica can hold.
const (
	oidBool        = 16
	oidBytea       = 17
	oidChar        = 18
	oidName        = 19
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidJSON        = 114
	oidFloat4      = 700
	oidFloat8      = 701
	oidBPChar      = 1042
	oidVarchar     = 1043
	oidDate        = 1082
	oidTime        = 1083
	oidTimestamp   = 1114
	oidTimestamptz = 1184
	oidNumeric     = 1700
	oidUUID        = 2950
	oidJSONB       = 3802
)

// maxDecimalDigits is the widest Decimal that the engine has.
const maxDecimalDigits = 76

// Type returns the engine's type of a column, for example "Nullable(Decimal(12, 2))".
// It reports false for a type that a replica cannot hold.
func Type(c cdc.Column) (string, bool) {
	base, ok := baseType(c)
	if !ok {
		return "", false
	}
	if c.NotNull {
		return base, true
	}
	return "Nullable(" + base + ")", true
}

func baseType(c cdc.Column) (string, bool) {
	if c.Enum {
		return "String", true
	}
	switch c.Type {
	case oidBool:
		return "Bool", true
	case oidInt2:
		return "Int16", true
	case oidInt4, oidDate:
		return "Int32", true
	case oidInt8, oidTimestamp, oidTimestamptz, oidTime:
		return "Int64", true
	case oidFloat4:
		return "Float32", true
	case oidFloat8:
		return "Float64", true
	case oidUUID:
		return "FixedString(16)", true
	case oidNumeric:
		if p, s, ok := Decimal(c); ok {
			return fmt.Sprintf("Decimal(%d, %d)", p, s), true
		}
		return "String", true
	case oidText, oidVarchar, oidName, oidChar, oidBPChar, oidBytea, oidJSON, oidJSONB:
		return "String", true
	}
	if _, ok := arraytext.Element(c.Type); ok {
		return "String", true
	}
	return "", false
}

// Decimal returns precision and scale of a numeric column that is held as a
// Decimal. It reports false for other columns, also for a numeric that has no
// precision or one that the engine cannot hold: those are held as their text.
func Decimal(c cdc.Column) (precision, scale int, ok bool) {
	if c.Type != oidNumeric || c.Enum {
		return 0, 0, false
	}
	precision, scale, ok = cdc.NumericModifier(c.Modifier)
	if !ok || scale < 0 || scale > precision || precision < 1 || precision > maxDecimalDigits {
		return 0, 0, false
	}
	return precision, scale, true
}

func newValues(c cdc.Column) values {
	if c.Enum {
		return &text{decode: verbatim}
	}
	switch c.Type {
	case oidBool:
		return newScalar[proto.ColBool](decodeBool, keyBool)
	case oidInt2:
		return newScalar[proto.ColInt16](decodeInt16, keyInt[int16])
	case oidInt4:
		return newScalar[proto.ColInt32](decodeInt32, keyInt[int32])
	case oidInt8:
		return newScalar[proto.ColInt64](decodeInt64, keyInt[int64])
	case oidDate:
		return newScalar[proto.ColInt32](decodeDate, keyInt[int32])
	case oidTimestamp, oidTimestamptz:
		return newScalar[proto.ColInt64](decodeTimestamp, keyInt[int64])
	case oidTime:
		return newScalar[proto.ColInt64](decodeTime, keyInt[int64])
	case oidFloat4:
		return newScalar[proto.ColFloat32](decodeFloat32, keyFloat32)
	case oidFloat8:
		return newScalar[proto.ColFloat64](decodeFloat64, keyFloat64)
	case oidUUID:
		return newScalar[proto.ColFixedStr16](decodeUUID, keyUUID)
	case oidNumeric:
		return newNumeric(c)
	case oidBPChar:
		return &text{decode: stripBlanks}
	case oidBytea:
		return &text{decode: decodeBytea}
	case oidJSONB:
		return &text{decode: decodeJSONB}
	}
	if element, ok := arraytext.Element(c.Type); ok {
		return &text{decode: arrayText(element)}
	}
	return &text{decode: verbatim}
}

func newNumeric(c cdc.Column) values {
	p, s, ok := Decimal(c)
	switch {
	case !ok:
		return &text{decode: numericText}
	case p <= 9:
		return newScalar[proto.ColDecimal32](decimal32(p, s), keyInt[proto.Decimal32])
	case p <= 18:
		return newScalar[proto.ColDecimal64](decimal64(p, s), keyInt[proto.Decimal64])
	case p <= 38:
		return newScalar[proto.ColDecimal128](decimal128(p, s), keyDecimal128)
	default:
		return newScalar[proto.ColDecimal256](decimal256(p, s), keyDecimal256)
	}
}
