package finish

import (
	"errors"
	"strings"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
)

// The guards that are raised here.
var (
	errDivisionByZero = errors.New("division by zero")
	errOutsideZone    = errors.New("timestamp outside of its zone's rules")
	errIntervalRange  = errors.New("interval out of range")
)

// GuardMessage starts the message of every exception that a translated statement raises on purpose.
const GuardMessage = "freshet guard: "

// guardCodes are the engine's errors that a value can cause in a translated statement, and what each says of the value.
var guardCodes = map[proto.Error]string{
	proto.ErrCannotConvertType:               "a conversion",
	proto.ErrDecimalOverflow:                 "numeric out of range",
	proto.ErrIllegalDivision:                 "division by zero",
	proto.ErrArgumentOutOfBound:              "argument out of range",
	proto.ErrIncorrectResultOfScalarSubquery: "more than one row in a subquery",
	proto.ErrValueIsOutOfRangeOfDataType:     "value out of range",
	proto.ErrFunctionThrowIfValueIsNonZero:   "a guard of the translation",
}

// IsGuard reports whether the engine refused to compute a value on which it might differ from
// PostgreSQL. The statement is then to be run by PostgreSQL, which gives the answer or the genuine error.
func IsGuard(err error) bool { return Guard(err) != "" }

// Guard says what the engine refused to compute, as "division by zero", and nothing if [IsGuard] is false. Other
// than the engine's message it quotes no statement, so that it may be shown to clients. That PostgreSQL
// finds the same at fault is not said: the engine also computes values that PostgreSQL never asks for.
func Guard(err error) string {
	for _, own := range []error{errDivisionByZero, errOutsideZone, errIntervalRange} {
		if errors.Is(err, own) {
			return own.Error()
		}
	}
	e, ok := errors.AsType[*ch.Exception](err)
	if !ok {
		return ""
	}
	// The message may also quote the statement, with the guards in it.
	if what, raised := strings.CutPrefix(strings.TrimPrefix(e.Message, "DB::Exception: "), GuardMessage); raised {
		what, _, _ = strings.Cut(what, ":")
		return what
	}
	return guardCodes[e.Code]
}
