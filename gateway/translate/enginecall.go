package translate

import "strings"

// engineCall is a call of one of the engine's aggregates.
type engineCall struct {
	// function is its name; empty: args are an expression of aggregates.
	function, args string
	// over is the window; empty for a group.
	over string
	// cast is a function around the call; empty: none.
	cast string
	// compact values can be collected before they are counted.
	compact bool
	// determined says that all rows of a group have the same value.
	determined bool
}

func (c engineCall) sql() string { return c.cast + c.parenthesised(c.plain()) }

// plain is the call without its cast.
// A window's rows are all there before a CASE around it is computed.
func (c engineCall) plain() string {
	if c.over != "" {
		return settled(c.function + "(" + c.args + ")" + c.over)
	}
	return c.function + "(" + c.args + ")"
}

func (c engineCall) parenthesised(sql string) string {
	if c.cast == "" {
		return sql
	}
	return "(" + sql + ")"
}

// merge returns the aggregate that makes the result for all rows of the results for parts of them; empty if there is none.
func (c engineCall) merge() string {
	f := strings.TrimSuffix(c.function, "If")
	switch f {
	case "count":
		return "sum"
	case "sum", "sumOrNull", "min", "minOrNull", "max", "maxOrNull", "any":
		return f
	case "uniqExact":
		if c.compact {
			return "uniqExactArray"
		}
	}
	return ""
}

// partial is the call for part of the rows, of whose results merge makes the whole. Values that are counted once travel as
// arrays: they are few, and a set for each part costs more than its values.
func (c engineCall) partial() string {
	if rest, ok := strings.CutPrefix(c.function, "uniqExact"); ok {
		c.function = "groupArray" + rest
	}
	return c.plain()
}

// ignoresRepetition reports whether the result stays the same when rows come again.
func (c engineCall) ignoresRepetition() bool {
	switch strings.TrimSuffix(c.function, "If") {
	case "min", "minOrNull", "max", "maxOrNull", "any", "uniqExact":
		return true
	}
	return false
}

// ofOne is the result for a single row; empty if it is not simply the argument.
func (c engineCall) ofOne() string {
	switch strings.TrimSuffix(c.function, "OrNull") {
	case "sum", "min", "max", "any":
		return c.cast + "(" + c.args + ")"
	case "uniqExactArray":
		return c.cast + "(arrayUniq(" + c.args + "))"
	}
	return ""
}
