package finish

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/freshet-io/freshet/connectors/replica/document"
)

const (
	oidJSONB = 3802 // whose binary format starts with a version byte
	oidQChar = 18   // "char"
)

func textBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 't')
	}
	return append(dst, 'f')
}

func binaryBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func textInt[T int16 | int32 | int64](dst []byte, v T) []byte {
	return strconv.AppendInt(dst, int64(v), 10)
}

func binaryInt16(dst []byte, v int16) []byte { return binary.BigEndian.AppendUint16(dst, uint16(v)) }
func binaryInt32(dst []byte, v int32) []byte { return binary.BigEndian.AppendUint32(dst, uint32(v)) }
func binaryInt64(dst []byte, v int64) []byte { return binary.BigEndian.AppendUint64(dst, uint64(v)) }
func binaryOID(dst []byte, v int64) []byte   { return binary.BigEndian.AppendUint32(dst, uint32(v)) }

func binaryFloat32(dst []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(v))
}

func binaryFloat64(dst []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(dst, math.Float64bits(v))
}

func textFloat32(dst []byte, v float32) []byte { return appendFloat(dst, float64(v), 32, 6) }
func textFloat64(dst []byte, v float64) []byte { return appendFloat(dst, v, 64, 15) }

func raw(dst, v []byte) []byte { return append(dst, v...) }

func stringWriter(oid uint32, binary bool) func(dst, v []byte) []byte {
	switch {
	case oid == oidJSONB && binary:
		return func(dst, v []byte) []byte { return document.AppendText(append(dst, 1), v) }
	case oid == oidJSONB:
		return document.AppendText
	case oid == oidQChar && !binary:
		return textQChar
	}
	return raw
}

// textQChar writes a "char", which is one byte: zero stands for none, and one beyond ASCII is written in octal.
func textQChar(dst, v []byte) []byte {
	switch {
	case len(v) == 1 && v[0] == 0:
		return dst
	case len(v) == 1 && v[0] >= utf8.RuneSelf:
		return fmt.Appendf(dst, `\%03o`, v[0])
	}
	return append(dst, v...)
}

func padded(width int) func(dst, v []byte) []byte {
	return func(dst, v []byte) []byte {
		dst = append(dst, v...)
		for n := utf8.RuneCount(v); n < width; n++ {
			dst = append(dst, ' ')
		}
		return dst
	}
}

func textBytea(dst, v []byte) []byte {
	return hex.AppendEncode(append(dst, `\x`...), v)
}

func textUUID(dst, v []byte) []byte { return append(dst, uuid.UUID(v).String()...) }
