package translate

import (
	"fmt"

	"github.com/freshet-io/freshet/connectors/arraytext"
	"github.com/freshet-io/freshet/connectors/cdc"
)

// The OIDs of the PostgreSQL types that are understood. Other types are opaque.
const (
	oidBool        = 16
	oidBytea       = 17
	oidName        = 19
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidJSON        = 114
	oidFloat4      = 700
	oidFloat8      = 701
	oidUnknown     = 705
	oidBpchar      = 1042
	oidVarchar     = 1043
	oidDate        = 1082
	oidTime        = 1083
	oidTimestamp   = 1114
	oidTimestampTZ = 1184
	oidInterval    = 1186
	oidNumeric     = 1700
	oidRecord      = 2249
	oidUUID        = 2950
	oidJSONB       = 3802
	oidChar        = 18 // the one-byte type "char"
)

// typeNames maps the names that the grammar and casts use.
var typeNames = map[string]uint32{
	"bool": oidBool, "bytea": oidBytea, "name": oidName, "int8": oidInt8, "int2": oidInt2, "int4": oidInt4,
	"text": oidText, "float4": oidFloat4, "float8": oidFloat8, "bpchar": oidBpchar, "varchar": oidVarchar,
	"date": oidDate, "time": oidTime, "timestamp": oidTimestamp, "timestamptz": oidTimestampTZ,
	"interval": oidInterval, "numeric": oidNumeric, "uuid": oidUUID, "json": oidJSON, "jsonb": oidJSONB,
}

// firstDefinedOID is the lowest of types that a user or an extension defines (FirstNormalObjectId).
const firstDefinedOID = 16384

// typeName is a type's name in a message: that of the grammar, or its OID.
func typeName(oid uint32) string {
	for name, o := range typeNames {
		if o == oid {
			return name
		}
	}
	switch {
	case elementOf(oid) != 0:
		return typeName(elementOf(oid)) + "[]"
	case oid >= firstDefinedOID:
		return "a type that the database defines"
	}
	return fmt.Sprintf("type %d", oid)
}

func isInteger(oid uint32) bool { return oid == oidInt2 || oid == oidInt4 || oid == oidInt8 }
func isFloat(oid uint32) bool   { return oid == oidFloat4 || oid == oidFloat8 }
func isNumber(oid uint32) bool  { return isInteger(oid) || oid == oidNumeric || isFloat(oid) }

// isText: the types whose functions and operators are those of text.
func isText(oid uint32) bool   { return oid == oidText || oid == oidVarchar || oid == oidName }
func isString(oid uint32) bool { return isText(oid) || oid == oidBpchar }

func isMoment(oid uint32) bool {
	return oid == oidDate || oid == oidTimestamp || oid == oidTimestampTZ
}

// maxPrecision is the largest number of digits of the engine's decimals.
const maxPrecision = 76

// integerDigits are the digits that every value of an integer type fits in.
var integerDigits = map[uint32]int{oidInt2: 5, oidInt4: 10, oidInt8: 19}

// decimal describes a numeric's representation and display.
type decimal struct {
	integer int // digits before the point
	scale   int // digits after the point
	// display is the display scale: known, or displayDynamic or displayUnknown.
	display int
	// displaySQL computes a dynamic display scale (Int32; NULL where the value is).
	displaySQL string
}

const (
	displayDynamic = -1
	// displayUnknown marks a value that may be compared but not shown.
	displayUnknown = -2
)

func (d decimal) precision() int { return max(1, d.integer+d.scale) }

func (d decimal) String() string { return fmt.Sprintf("Decimal(%d, %d)", d.precision(), d.scale) }

// numericModifier unpacks the typmod of a numeric that fits the engine's decimals.
func numericModifier(mod int32) (precision, scale int, ok bool) {
	precision, scale, ok = cdc.NumericModifier(mod)
	return precision, scale, ok && scale >= 0 && scale <= precision && precision <= maxPrecision
}

// columnType sets what a stored column's expression is.
func columnType(c cdc.Column) expr {
	e := expr{oid: c.Type, null: !c.NotNull, pad: -1, modified: c.Modifier >= 0}
	switch c.Type {
	case oidBool, oidInt2, oidInt4, oidInt8, oidFloat4, oidFloat8, oidDate, oidTime, oidTimestamp, oidTimestampTZ, oidUUID, oidBytea:
	case oidText, oidVarchar, oidName, oidBpchar:
		e.collation = columnCollation(c)
		if c.Type == oidBpchar && c.Modifier >= 4 {
			e.pad = int(c.Modifier - 4)
		}
	case oidNumeric:
		p, s, ok := numericModifier(c.Modifier)
		if !ok {
			e.opaque = true
			break
		}
		e.dec = decimal{integer: p - s, scale: s, display: s}
	default:
		e.enum, e.opaque = c.Enum || arraytext.Alike(c.Type), true
		if isCollated(c.Type) {
			e.collation = columnCollation(c)
		}
	}
	return e
}
