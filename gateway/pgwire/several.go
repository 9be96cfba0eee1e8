package pgwire

import "strings"

// several reports whether sql may hold more than one statement: a semicolon that is not at its end.
func several(sql string) bool {
	i := strings.IndexByte(sql, ';')
	return i >= 0 && strings.TrimLeft(sql[i:], "; \t\r\n\f\v") != ""
}

// severalClass is the class of a text that may hold several statements, of which only the words are looked at.
func severalClass(sql string) *class {
	c := unknownClass
	c.Reason = "it may be several statements in one message"
	rest, _ := skipBlanks(sql)
	c.leaves = leavesBlock(rest, firstWord(rest))
	c.forgets, c.ends = wordEffects(sql)
	return &c
}

// wordEffects tells by all words of a text, be they in constants, whether it may drop or replace prepared statements, and begin or end a
// transaction block.
func wordEffects(sql string) (forgets, ends bool) {
	for sql != "" {
		word := firstWord(sql)
		switch word {
		case "begin", "start", "commit", "end", "rollback", "abort":
			ends = true
		case "execute", "prepare": // of a statement, or of a transaction
			forgets, ends = true, true
		case "deallocate":
			forgets = true
		case "discard":
			forgets = forgets || discardsStatements(sql[len(word):])
		}
		sql = sql[max(1, len(word)):]
	}
	return forgets, ends
}

// discardsStatements reports whether a DISCARD drops prepared statements, by what follows the word.
func discardsStatements(rest string) bool {
	what, ok := skipBlanks(rest)
	switch word := firstWord(what); word {
	case "plans", "sequences", "temp", "temporary":
		return !ok
	}
	return true
}

// leavesBlock reports whether the first of several statements, which begins with the given word, ends the block.
func leavesBlock(sql, word string) bool {
	switch word {
	case "commit", "end", "abort":
		return true
	case "rollback":
		first, _, _ := strings.Cut(sql, ";")
		return endsBlock(strings.ToLower(first))
	}
	return false
}
