package translate

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// PostgreSQL computes an arm of a CASE for the rows alone that take it, and what an aggregate aggregates for those alone that its FILTER leaves.
// The engine does so for an arm of which it finds no part elsewhere in the statement: what stands twice it computes once, for all rows, and so it
// does the arguments of aggregates and of COALESCE (26.7). So what makes it raise an exception is marked, together with what never does, and
// CASE, COALESCE and FILTER write that in its place for the other rows.

// A marked value is lazyStart, a key of the value, a comma, the harmless value, lazyOf, the value, lazyEnd. Around the value may be what is
// needed only if the value stands elsewhere, too, each part in lazyExtra and lazyExtraEnd. A blank is before a marker that may follow the name of
// a column, whose part the marker would seem to be.
const (
	lazyMark     = marker + "lazy"
	lazyStart    = lazyMark + "("
	lazyOf       = lazyMark + ":"
	lazyEnd      = " " + lazyMark + ")"
	lazyExtra    = lazyMark + "["
	lazyExtraEnd = lazyMark + "]"
	// settledMark is lazyMark where no more is written around the value.
	settledMark = marker + "settled"
)

// lazyRoom is how much text conditions may add to an expression, in bytes. A CASE of very many arms is left to what the engine makes of it.
const lazyRoom = 2000

// lazy marks a value that may make the engine raise an exception. The harmless one is of the same type, or becomes so beside it.
func lazy(value, harmless string) string {
	key := fnv.New64a()
	key.Write([]byte(value))
	return lazyStart + strconv.FormatUint(key.Sum64(), 36) + "," + harmless + lazyOf + value + lazyEnd
}

// settled keeps what is around an expression from having marked values computed for some rows only: it is computed in any case, or of other rows.
func settled(sql string) string { return strings.ReplaceAll(sql, lazyMark, settledMark) }

// filtered is what is aggregated of the rows that a FILTER leaves.
func filtered(sql, filter string) string {
	return lazily(sql, func(harmless string) (string, string) { return "if(" + filter + ", ", ", " + harmless + ")" })
}

// taken is an arm of a CASE, which is computed where its condition holds and none of those before. NULL does not hold.
func taken(sql string, before []string, cond string) string {
	return lazily(sql, func(harmless string) (string, string) {
		return extra("multiIf(" + excluding(before, harmless) + cond + ", "), extra(", " + harmless + ")")
	})
}

// left is what a CASE computes where none of the conditions holds: its ELSE, or the next condition.
func left(sql string, before []string) string {
	if len(before) == 0 {
		return sql
	}
	return lazily(sql, func(harmless string) (string, string) {
		return extra("multiIf(" + excluding(before, harmless)), extra(")")
	})
}

// lacking is an argument of COALESCE, which is computed where those before are absent. The engine computes all of them for all rows.
func lacking(sql string, present []string) string {
	if len(present) == 0 {
		return sql
	}
	return lazily(sql, func(harmless string) (string, string) { return "multiIf(" + excluding(present, harmless), ")" })
}

func excluding(conds []string, harmless string) string {
	var b strings.Builder
	for _, c := range conds {
		b.WriteString(c + ", " + harmless + ", ")
	}
	return b.String()
}

func extra(text string) string { return " " + lazyExtra + text + lazyExtraEnd }

// lazily writes text around the marked values. They stay marked, for what may be around the expression.
func lazily(sql string, around func(harmless string) (before, behind string)) string {
	var b strings.Builder
	var open []string
	for rest := sql; ; {
		text, mark, found := strings.Cut(rest, lazyMark)
		if !found {
			b.WriteString(text)
			break
		}
		if mark[0] == ')' {
			text = strings.TrimSuffix(text, " ")
		}
		b.WriteString(text)
		switch rest = mark[1:]; mark[0] {
		case '(':
			head, value, _ := strings.Cut(rest, lazyOf)
			_, harmless, _ := strings.Cut(head, ",")
			before, behind := around(harmless)
			b.WriteString(lazyStart + head + lazyOf + before)
			open, rest = append(open, behind), value
		case ')':
			last := len(open) - 1
			b.WriteString(open[last] + lazyEnd)
			open = open[:last]
		default:
			b.WriteString(lazyMark + mark[:1])
		}
	}
	if b.Len()-len(sql) > lazyRoom {
		return sql
	}
	return b.String()
}

// writeMarked writes a statement, or a part of one, without the marks: what is around a value is left out if the value stands there once.
func writeMarked(sql string) string {
	sql = strings.ReplaceAll(sql, settledMark, lazyMark)
	times := map[string]int{}
	for part := range strings.SplitSeq(sql, lazyStart) {
		key, _, _ := strings.Cut(part, ",")
		times[key]++
	}
	var b strings.Builder
	var repeated []bool // of the values that are open
	skipped := 0        // how many extras are that are left out
	for {
		text, mark, found := strings.Cut(sql, lazyMark)
		if found && mark[0] != '(' && mark[0] != ']' {
			text = strings.TrimSuffix(text, " ")
		}
		if skipped == 0 {
			b.WriteString(text)
		}
		if !found {
			return b.String()
		}
		sql = mark[1:]
		switch mark[0] {
		case '(':
			var head string
			head, sql, _ = strings.Cut(sql, lazyOf)
			key, _, _ := strings.Cut(head, ",")
			repeated = append(repeated, times[key] > 1)
		case ')':
			repeated = repeated[:len(repeated)-1]
		case '[':
			if skipped > 0 || !repeated[len(repeated)-1] {
				skipped++
			}
		case ']':
			skipped = max(0, skipped-1)
		}
	}
}
