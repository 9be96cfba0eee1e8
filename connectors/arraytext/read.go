package arraytext

import (
	"strconv"
)

// Read reads an array as PostgreSQL's output function writes it; its input function takes more.
func Read(text []byte) (Array, error) {
	r := reader{rest: text}
	var bounds []Dim
	for r.take('[') {
		lower, ok := r.bound(':')
		upper, closed := r.bound(']')
		if !ok || !closed || upper < lower {
			return Array{}, ErrMalformed
		}
		bounds = append(bounds, Dim{upper - lower + 1, lower})
	}
	if len(bounds) > 0 && !r.take('=') || len(bounds) > mostDims {
		return Array{}, ErrMalformed
	}
	if string(r.rest) == "{}" && len(bounds) == 0 {
		return Array{}, nil
	}
	for depth := 0; depth < len(r.rest) && r.rest[depth] == '{'; depth++ {
		r.dims = append(r.dims, Dim{-1, 1})
	}
	if len(r.dims) == 0 || len(r.dims) > mostDims || len(bounds) > 0 && len(bounds) != len(r.dims) {
		return Array{}, ErrMalformed
	}
	if !r.level(0) || len(r.rest) > 0 {
		return Array{}, ErrMalformed
	}
	for i, b := range bounds {
		if b.Length != r.dims[i].Length {
			return Array{}, ErrMalformed
		}
		r.dims[i] = b
	}
	return Array{r.dims, r.elements}, nil
}

// reader reads a text from its beginning.
type reader struct {
	rest     []byte
	dims     []Dim // a length of -1 is not known yet
	elements [][]byte
}

func (r *reader) take(c byte) bool {
	if len(r.rest) == 0 || r.rest[0] != c {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

// bound reads a number and the byte behind it.
func (r *reader) bound(end byte) (int, bool) {
	for i, c := range r.rest {
		if c == end {
			n, err := strconv.ParseInt(string(r.rest[:i]), 10, 32)
			r.rest = r.rest[i+1:]
			return int(n), err == nil
		}
	}
	return 0, false
}

// level reads an array of a dimension and those below.
func (r *reader) level(dim int) bool {
	if !r.take('{') {
		return false
	}
	n := 0
	for {
		if dim+1 < len(r.dims) && !r.level(dim+1) || dim+1 == len(r.dims) && !r.element() {
			return false
		}
		if n++; r.take(',') {
			continue
		}
		if r.dims[dim].Length < 0 {
			r.dims[dim].Length = n
		}
		return r.take('}') && r.dims[dim].Length == n
	}
}

func (r *reader) element() bool {
	if r.take('"') {
		return r.quoted()
	}
	n := 0
	for n < len(r.rest) && r.rest[n] != ',' && r.rest[n] != '}' {
		if c := r.rest[n]; c == '{' || c == '"' || c == '\\' {
			return false
		}
		n++
	}
	if n == 0 {
		return false
	}
	value := r.rest[:n:n]
	if string(value) == Nullary {
		value = nil
	}
	r.elements, r.rest = append(r.elements, value), r.rest[n:]
	return true
}

func (r *reader) quoted() bool {
	value := []byte{}
	for len(r.rest) > 0 {
		c := r.rest[0]
		if r.rest = r.rest[1:]; c == '"' {
			r.elements = append(r.elements, value)
			return true
		}
		if c == '\\' {
			if len(r.rest) == 0 {
				return false
			}
			c, r.rest = r.rest[0], r.rest[1:]
		}
		value = append(value, c)
	}
	return false
}
