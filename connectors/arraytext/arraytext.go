package arraytext

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// elements are the types of the elements of the array types whose text depends on no setting of a session.
var elements = map[uint32]uint32{
	1000: 16,                     // bool
	1005: 21, 1007: 23, 1016: 20, // int2, int4, int8
	1009: 25, 1015: 1043, // text, varchar
	1014: 1042,            // bpchar
	1231: 1700,            // numeric
	2951: 2950,            // uuid
	199:  114, 3807: 3802, // json, jsonb
}

// alike are the element types of which values are equal where their texts are: not numeric, whose 1.0 is 1.00, nor
// bpchar.
var alike = []uint32{16, 21, 23, 20, 25, 1043, 2950}

// Element returns the type of the elements of an array type. It reports false for other types, and for arrays that the
// replica does not have.
func Element(array uint32) (oid uint32, ok bool) {
	oid, ok = elements[array]
	return oid, ok
}

// Alike reports whether two arrays of a type are equal where their texts are, and only there.
func Alike(array uint32) bool {
	element, ok := elements[array]
	return ok && slices.Contains(alike, element)
}

// Types returns the array types, by their OIDs.
func Types() []uint32 {
	types := make([]uint32, 0, len(elements))
	for t := range elements {
		types = append(types, t)
	}
	slices.Sort(types)
	return types
}

// ErrMalformed says that bytes are not an array in the format that they are said to be in.
var ErrMalformed = errors.New("malformed array")

// Array is an array of any number of dimensions. It is empty if it has none.
type Array struct {
	Dims []Dim
	// Elements are in the order of storage; nil is NULL.
	Elements [][]byte
}

// Dim is a dimension of an array.
type Dim struct{ Length, Lower int }

// mostDims is PostgreSQL's MAXDIM.
const mostDims = 6

// Nullary is the unquoted text of an element that is NULL.
const Nullary = "NULL"

// FromBinary reads an array in PostgreSQL's binary format, whose elements stay in theirs. They share the value's
// memory.
func FromBinary(v []byte) (Array, error) {
	const header = 12
	if len(v) < header {
		return Array{}, ErrMalformed
	}
	n := int(int32(binary.BigEndian.Uint32(v)))
	v = v[header:]
	if n < 0 || n > mostDims || len(v) < 8*n {
		return Array{}, ErrMalformed
	}
	a := Array{Dims: make([]Dim, n)}
	count := min(n, 1)
	for i := range a.Dims {
		a.Dims[i] = Dim{int(int32(binary.BigEndian.Uint32(v[8*i:]))), int(int32(binary.BigEndian.Uint32(v[8*i+4:])))}
		// Every element takes four bytes at least.
		if a.Dims[i].Length <= 0 || a.Dims[i].Length > len(v) {
			return Array{}, ErrMalformed
		}
		if count *= a.Dims[i].Length; count > len(v) {
			return Array{}, ErrMalformed
		}
	}
	v = v[8*n:]
	a.Elements = make([][]byte, count)
	for i := range a.Elements {
		if len(v) < 4 {
			return Array{}, ErrMalformed
		}
		size := int(int32(binary.BigEndian.Uint32(v)))
		if v = v[4:]; size < 0 {
			continue
		}
		if size > len(v) {
			return Array{}, ErrMalformed
		}
		a.Elements[i], v = v[:size:size], v[size:]
	}
	if len(v) > 0 {
		return Array{}, ErrMalformed
	}
	return a, nil
}

// AppendBinary appends the array, whose elements are in their binary format, in PostgreSQL's binary format.
func (a Array) AppendBinary(dst []byte, element uint32) []byte {
	nulls := uint32(0)
	if slices.ContainsFunc(a.Elements, func(e []byte) bool { return e == nil }) {
		nulls = 1
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(a.Dims)))
	dst = binary.BigEndian.AppendUint32(dst, nulls)
	dst = binary.BigEndian.AppendUint32(dst, element)
	for _, d := range a.Dims {
		dst = binary.BigEndian.AppendUint32(dst, uint32(d.Length))
		dst = binary.BigEndian.AppendUint32(dst, uint32(d.Lower))
	}
	for _, e := range a.Elements {
		if e == nil {
			dst = binary.BigEndian.AppendUint32(dst, math.MaxUint32)
			continue
		}
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(e))), e...)
	}
	return dst
}

// AppendText appends the array, whose elements are in text format, as PostgreSQL's output function writes it.
func (a Array) AppendText(dst []byte) []byte {
	if len(a.Elements) == 0 {
		return append(dst, "{}"...)
	}
	if slices.ContainsFunc(a.Dims, func(d Dim) bool { return d.Lower != 1 }) {
		for _, d := range a.Dims {
			dst = strconv.AppendInt(append(dst, '['), int64(d.Lower), 10)
			dst = append(strconv.AppendInt(append(dst, ':'), int64(d.Lower+d.Length-1), 10), ']')
		}
		dst = append(dst, '=')
	}
	dst, _ = appendLevel(dst, a.Dims, a.Elements)
	return dst
}

// appendLevel appends an array of the first elements, and returns the others.
func appendLevel(dst []byte, dims []Dim, all [][]byte) ([]byte, [][]byte) {
	dst = append(dst, '{')
	for i := range dims[0].Length {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch {
		case len(dims) > 1:
			dst, all = appendLevel(dst, dims[1:], all)
			continue
		case all[0] == nil:
			dst = append(dst, Nullary...)
		default:
			dst = AppendElement(dst, all[0])
		}
		all = all[1:]
	}
	return append(dst, '}'), all
}

// AppendElement appends an element's text as it stands in an array's.
func AppendElement(dst, text []byte) []byte {
	if len(text) > 0 && !bytes.ContainsAny(text, "\"\\{}, \t\n\r\v\f") && !strings.EqualFold(string(text), Nullary) {
		return append(dst, text...)
	}
	dst = append(dst, '"')
	for _, c := range text {
		if c == '"' || c == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, c)
	}
	return append(dst, '"')
}
