package sqlgen

// Kind is a PostgreSQL type without its modifiers.
type Kind uint8

// The kinds of columns and expressions.
const (
	Bool Kind = iota + 1
	Int2
	Int4
	Int8
	Numeric
	Float4
	Float8
	Text
	Varchar
	Bpchar
	Date
	Timestamp
	Timestamptz
	Time
	UUID
	Bytea
	JSON
	JSONB
	Enum
	Interval
	TextArray
	IntArray
)

// family groups the kinds that expressions mix freely.
type family uint8

const (
	famBool family = iota + 1
	famInt
	famNum
	famFloat
	famStr
	famDate
	famTS
	famTSTZ
	famTime
	famUUID
	famEnum
	famOther // passed through and tested for NULL only
)

func (k Kind) family() family {
	switch k {
	case Bool:
		return famBool
	case Int2, Int4, Int8:
		return famInt
	case Numeric:
		return famNum
	case Float4, Float8:
		return famFloat
	case Text, Varchar, Bpchar:
		return famStr
	case Date:
		return famDate
	case Timestamp:
		return famTS
	case Timestamptz:
		return famTSTZ
	case Time:
		return famTime
	case UUID:
		return famUUID
	case Enum:
		return famEnum
	default:
		return famOther
	}
}

// OID is the type's object identifier in PostgreSQL; 0 for enumerations, which have none of their own.
func (k Kind) OID() uint32 {
	return map[Kind]uint32{
		Bool: 16, Int2: 21, Int4: 23, Int8: 20, Numeric: 1700, Float4: 700, Float8: 701,
		Text: 25, Varchar: 1043, Bpchar: 1042, Date: 1082, Timestamp: 1114, Timestamptz: 1184,
		Time: 1083, UUID: 2950, Bytea: 17, JSON: 114, JSONB: 3802, Interval: 1186, TextArray: 1009, IntArray: 1007,
	}[k]
}

// sqlName is the name to cast to.
func (k Kind) sqlName() string {
	return map[Kind]string{
		Bool: "boolean", Int2: "int2", Int4: "int4", Int8: "int8", Numeric: "numeric", Float4: "float4",
		Float8: "float8", Text: "text", Varchar: "varchar", Bpchar: "bpchar", Date: "date",
		Timestamp: "timestamp", Timestamptz: "timestamptz", Time: "time", UUID: "uuid", Enum: "mood", Interval: "interval", TextArray: "text[]", IntArray: "int4[]",
	}[k]
}

// varying is the scale of a numeric expression whose values do not all have the same one.
const varying = -1

// typ is what the generator knows of an expression's type and values.
type typ struct {
	kind Kind
	// scale holds for numerics: digits after the point of every value, or varying; for
	// bpchar the declared length, or varying.
	scale int
	// alike says that equal ones of a numeric of varying scale have the same one.
	alike bool
	// max bounds the magnitude of integers and numerics.
	max float64
	// wild says that dates and times may be infinite or near the ends of their range.
	wild bool
	// special says that a numeric may be NaN or infinite, and a float NaN or a zero of either sign.
	special bool
}

// canonical says that equal values print alike, so that it does not matter which of
// several equal values an engine keeps.
func (t typ) canonical() bool {
	switch t.kind {
	case Bpchar: // blanks do not count, and the declared length says how many there are
		return t.scale != varying
	case Numeric:
		return (t.scale != varying || t.alike) && !t.special
	case Float4, Float8:
		return !t.special
	case JSON, JSONB, Interval:
		return false
	default:
		return true
	}
}

// orderable says that the type has a default ordering.
func (t typ) orderable() bool { return t.kind != JSON }

func intType(k Kind, limit float64) typ { return typ{kind: k, max: limit} }

var intLimit = map[Kind]float64{Int2: 32767, Int4: 2147483647, Int8: 9.2e18}
