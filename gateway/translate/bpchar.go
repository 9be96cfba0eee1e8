package translate

// A bpchar's values are kept without the blanks at their ends, which do not count when they are compared. Where they are shown, or read by a pattern,
// they have those of PostgreSQL: up to the width of a char(n), or as they were written.

// blanks is the text of a bpchar with its blanks.
type blanks struct {
	sql  string // of the value: an expression that was made something else has another
	text string
}

// spaced returns the text of a string with its blanks; false where they are not known.
func (e expr) spaced() (sql string, ok bool) {
	switch {
	case e.oid != oidBpchar, e.isNull():
		return e.sql, true
	case e.pad >= 0:
		return "rightPadUTF8(" + e.sql + ", " + itoa(e.pad) + ")", true
	case e.blanks != nil && e.blanks.sql == e.sql:
		return e.blanks.text, true
	}
	return "", false
}

// hasBlanks says that it has blanks at its end which pad does not tell of.
func (e expr) hasBlanks() bool {
	return e.oid == oidBpchar && e.pad < 0 && !e.isNull() && e.blanks != nil && e.blanks.sql == e.sql
}

// blanksText is the text with those blanks; empty: there are none.
func (e expr) blanksText() string {
	if !e.hasBlanks() {
		return ""
	}
	return e.blanks.text
}

// withBlanks is spaced, for what needs the blanks.
func withBlanks(e expr) string {
	sql, ok := e.spaced()
	if !ok {
		fail("char of unknown width")
	}
	return sql
}

// chosenBlanks gives a choice among bpchars the blanks of the alternative that is chosen, whatever the values are.
func chosenBlanks(e expr, build func(func(expr) string) string, alternatives []expr) expr {
	if e.oid != oidBpchar || e.pad >= 0 {
		return e
	}
	for _, a := range alternatives {
		if _, ok := a.spaced(); !ok {
			return e
		}
	}
	e.blanks = &blanks{e.sql, build(func(a expr) string {
		if a.isNull() {
			return a.typed()
		}
		return withBlanks(a)
	})}
	return e
}
