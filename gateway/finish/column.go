package finish

import (
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-io/freshet/gateway/timezone"
)

// Kind says how a result column travels from the engine and is written for the client.
type Kind uint8

// The kinds of column. Every engine column is Nullable; the engine type is in parentheses.
const (
	Bool        Kind = iota + 1 // bool (Bool)
	Int16                       // int2 (Int16)
	Int32                       // int4 (Int32)
	Int64                       // int8 (Int64)
	Float32                     // float4 (Float32)
	Float64                     // float8 (Float64)
	String                      // text, varchar, name, json, enum labels, numeric as text: bytes as they are (String)
	Char                        // bpchar, to be padded with blanks to Pad characters (String)
	Numeric                     // numeric (Decimal(18, Scale), or Decimal(76, Scale) if Wide)
	Date                        // date (Int32 days since 1970-01-01)
	Timestamp                   // timestamp (Int64 microseconds since 1970-01-01)
	TimestampTZ                 // timestamptz (Int64 microseconds since 1970-01-01 UTC)
	Time                        // time (Int64 microseconds)
	UUID                        // uuid (FixedString(16))
	Bytea                       // bytea (String)
	OID                         // oid (Int64)
	// OpaqueNumeric is a numeric that travels as PostgreSQL's own text (String).
	OpaqueNumeric
	// Interval is the difference of two timestamps (Int64 microseconds).
	Interval
	// IntervalSum is a sum or an average of such: whole numbers in a text (String), namely the sums of the days, of the microseconds beside them
	// and of the days without their signs, and of an average the number of intervals. Or an interval by its months, days and microseconds, after a P.
	IntervalSum
	// Array is an array that travels as PostgreSQL's own text (String).
	Array
	// Floats is an array of float8 that travels as the engine's own texts of its elements, with commas between them (String).
	Floats
)

// Dynamic is the Display of a numeric whose display scale differs by row: it
// comes in the engine column that follows (Int32).
const Dynamic = -1

// Column is one column of a result as the client sees it.
type Column struct {
	Name string
	// Type is the PostgreSQL type OID, as PostgreSQL described it.
	Type uint32
	Kind Kind
	// Scale and Wide describe the engine's Decimal of a Numeric.
	Scale int
	Wide  bool
	// Display is a Numeric's number of digits after the point, or Dynamic.
	Display int
	// Pad is the width of a Char in characters.
	Pad int
	// Quotient makes a Numeric the quotient of two engine columns; Scale, Wide and Display are void then.
	Quotient *Quotient
}

// Form names all that decides how values of the engine become the column's, which its name does not: columns of one form make equal values of
// equal ones.
func (c Column) Form() string {
	q := c.Quotient
	c.Name, c.Quotient = "", nil
	if q == nil {
		return fmt.Sprint(c)
	}
	return fmt.Sprint(c, *q)
}

// Quotient describes a division that is finished here, and what is made of it.
type Quotient struct {
	Dividend, Divisor Operand
	Spread            Spread
}

// Spread says that a quotient is one of PostgreSQL's aggregates of how far values are from their average: NULL where the divisor is zero.
type Spread uint8

// The spreads. The zero value is a plain quotient.
const (
	Variance  Spread = 1 + iota
	Deviation        // standard deviation: the root of the variance
)

// Operand is a Decimal(76, Scale) of the engine, followed by its display scale (Int32) if Display is Dynamic.
type Operand struct{ Scale, Display int }

func (o Operand) engineTypes() []string {
	types := []string{fmt.Sprintf("Decimal(76, %d)", o.Scale)}
	if o.Display == Dynamic {
		types = append(types, "Int32")
	}
	return types
}

// EngineTypes returns the engine's types, without Nullable, of the engine columns that make up the column.
func (c Column) EngineTypes() []string {
	switch c.Kind {
	case Bool:
		return []string{"Bool"}
	case Int16:
		return []string{"Int16"}
	case Int32, Date:
		return []string{"Int32"}
	case Int64, Timestamp, TimestampTZ, Time, OID, Interval:
		return []string{"Int64"}
	case Float32:
		return []string{"Float32"}
	case Float64:
		return []string{"Float64"}
	case UUID:
		return []string{"FixedString(16)"}
	case Numeric:
		if q := c.Quotient; q != nil {
			return append(q.Dividend.engineTypes(), q.Divisor.engineTypes()...)
		}
		precision := 18
		if c.Wide {
			precision = 76
		}
		types := []string{fmt.Sprintf("Decimal(%d, %d)", precision, c.Scale)}
		if c.Display == Dynamic {
			types = append(types, "Int32")
		}
		return types
	default:
		return []string{"String"}
	}
}

// Style holds the session settings that PostgreSQL's output functions heed. An empty field stands for PostgreSQL's default.
type Style struct {
	DateStyle        string         // default "ISO, MDY"
	IntervalStyle    string         // default "postgres"
	TimeZone         string         // default "UTC"
	Zone             *timezone.Zone // the rules of TimeZone, where that is not UTC; without them, no timestamptz is written
	ByteaOutput      string         // default "hex"
	ExtraFloatDigits string         // default "1"
}

// ErrStyle says that a session setting asks for a format that is not handled: PostgreSQL is to answer.
var ErrStyle = errors.New("output style is not handled")

// utcNames are the names of zones that never had an offset.
var utcNames = map[string]bool{
	"": true, "utc": true, "gmt": true, "etc/utc": true, "etc/gmt": true, "uct": true, "etc/uct": true,
	"zulu": true, "etc/zulu": true, "universal": true, "etc/universal": true, "greenwich": true, "etc/greenwich": true,
	"gmt0": true, "etc/gmt0": true, "gmt+0": true, "gmt-0": true, "etc/gmt+0": true, "etc/gmt-0": true,
}

// IsUTC reports whether the name of a time zone stands for UTC.
func IsUTC(zone string) bool { return utcNames[strings.ToLower(zone)] }

func (s Style) check(c Column, binary bool) error {
	if binary {
		return nil
	}
	switch c.Kind {
	case Date, Timestamp, TimestampTZ:
		if s.DateStyle != "" && !strings.HasPrefix(strings.ToUpper(s.DateStyle), "ISO") {
			return fmt.Errorf("write column %q: DateStyle %q: %w", c.Name, s.DateStyle, ErrStyle)
		}
		if c.Kind == TimestampTZ && !IsUTC(s.TimeZone) && s.Zone == nil {
			return fmt.Errorf("write column %q: TimeZone %q: %w", c.Name, s.TimeZone, ErrStyle)
		}
	case Interval, IntervalSum:
		if _, ok := intervalTexts[s.IntervalStyle]; !ok {
			return fmt.Errorf("write column %q: IntervalStyle %q: %w", c.Name, s.IntervalStyle, ErrStyle)
		}
	case Bytea:
		if s.ByteaOutput != "" && s.ByteaOutput != "hex" {
			return fmt.Errorf("write column %q: bytea_output %q: %w", c.Name, s.ByteaOutput, ErrStyle)
		}
	case Float32, Float64, Floats:
		if d := s.ExtraFloatDigits; d != "" && d != "1" && d != "2" && d != "3" {
			return fmt.Errorf("write column %q: extra_float_digits %q: %w", c.Name, d, ErrStyle)
		}
	}
	return nil
}
