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

// guardCodes are the engine's errors that a value can cause in a translated statement.
var guardCodes = []proto.Error{
	proto.ErrCannotConvertType, proto.ErrDecimalOverflow, proto.ErrIllegalDivision, proto.ErrArgumentOutOfBound,
	proto.ErrIncorrectResultOfScalarSubquery, proto.ErrValueIsOutOfRangeOfDataType, proto.ErrFunctionThrowIfValueIsNonZero,
}

// IsGuard reports whether the engine refused to compute a value on which it might differ from
// PostgreSQL. The statement is then to be run by PostgreSQL, which gives the answer or the genuine error.
func IsGuard(err error) bool {
	if errors.Is(err, errDivisionByZero) || errors.Is(err, errOutsideZone) || errors.Is(err, errIntervalRange) {
		return true
	}
	e, ok := errors.AsType[*ch.Exception](err)
	if !ok {
		return false
	}
	// The message may also quote the statement, with the guards in it.
	if strings.HasPrefix(strings.TrimPrefix(e.Message, "DB::Exception: "), GuardMessage) {
		return true
	}
	for _, code := range guardCodes {
		if e.Code == code {
			return true
		}
	}
	return false
}
