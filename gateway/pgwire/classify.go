package pgwire

import (
	"strings"
	"unicode/utf8"

	"github.com/freshet-io/freshet/gateway/sqlshape"
)

// class is what is known of a statement by its text.
type class struct {
	Candidate
	word string // first keyword, lower case; empty when there is none
	// plain says that the statement goes to PostgreSQL without a further look,
	// unless a columnar snapshot or freshet.route = columnar is in play.
	plain bool
	// data says that it reads or writes tables.
	data bool
	// setting and value are of SET freshet.… ; setting is empty otherwise.
	setting, value string
	freshet        bool // a SET, RESET or SHOW that names freshet
	mentions       bool // freshet.* stands in its text, so that PostgreSQL has to know the values of these settings
	begins, ends   bool // a transaction block
	leaves         bool // of several statements, the first one ends the block
	readOnly       bool // the block that it begins may be READ ONLY
	forgets        bool // it may drop or replace any prepared statement
	// replaces is the name of the prepared statement that it drops or makes, provided that it does so to no other; else forgets may be set.
	replaces string
	defines  bool // it may change definitions of tables
	// relayed is the class of a point read where nothing asks for the columnar replica.
	relayed *class
}

// unknownClass is the class of what was not looked at: it may do anything.
var unknownClass = class{plain: true, data: true, forgets: true, ends: true, readOnly: true,
	Candidate: Candidate{Writes: true, SetsSession: true, Reason: "not looked at by the gateway"}}

// emptyClass is the class of a text without a statement, by which clients find out whether a connection is alive.
var emptyClass = class{plain: true}

// keywordClasses are the statements that are not queries. What is not here may do anything.
var keywordClasses = map[string]class{
	"begin":     {plain: true, begins: true},
	"start":     {plain: true, begins: true},
	"commit":    {plain: true, ends: true},
	"end":       {plain: true, ends: true},
	"rollback":  {plain: true, ends: true},
	"abort":     {plain: true, ends: true},
	"savepoint": {plain: true},
	"release":   {plain: true},
	"insert":    {plain: true, data: true, Candidate: Candidate{Writes: true}},
	"update":    {plain: true, data: true, Candidate: Candidate{Writes: true}},
	"delete":    {plain: true, data: true, Candidate: Candidate{Writes: true}},
	"merge":     {plain: true, data: true, Candidate: Candidate{Writes: true}},
	"copy":      {plain: true, data: true, Candidate: Candidate{Writes: true}},
	"truncate":  {plain: true, data: true, Candidate: Candidate{Writes: true}},
	// A cursor's query may call what writes or sets, at each of them.
	"fetch":      {plain: true, data: true, Candidate: Candidate{Writes: true, SetsSession: true}},
	"move":       {plain: true, data: true, Candidate: Candidate{Writes: true, SetsSession: true}},
	"close":      {plain: true},
	"listen":     {plain: true},
	"unlisten":   {plain: true},
	"notify":     {plain: true},
	"show":       {plain: true},
	"set":        {plain: true, Candidate: Candidate{SetsSession: true}},
	"reset":      {plain: true, Candidate: Candidate{SetsSession: true}},
	"checkpoint": {plain: true},
	"deallocate": {plain: true, forgets: true, Candidate: Candidate{SetsSession: true}},
	"prepare":    {plain: true, forgets: true, Candidate: Candidate{SetsSession: true, Writes: true}},
	"discard":    {plain: true, forgets: true, Candidate: Candidate{SetsSession: true}},
}

// isQuery are the first words of statements that are classified by their syntax tree.
func isQuery(word string) bool {
	switch word {
	case "select", "with", "values", "table", "explain", "declare":
		return true
	}
	return false
}

const (
	// maxClasses bounds what a session remembers of statements' shapes, and of their first words.
	maxClasses = 512
	// longestWord is what PostgreSQL keeps of an identifier, in bytes; no keyword is as long.
	longestWord = 63
)

// classes remembers the classes of queries by shape.
type classes struct {
	hasher     sqlshape.Hasher
	byShape    map[uint64]*class
	byWord     map[string]*class
	generation uint64
}

// classify returns the class of a simple Query's text, of which it keeps nothing.
func (s *session) classify(sql string) *class {
	c := s.classifyOne(sql)
	if c.Kind == Relay && c != &emptyClass && several(sql) {
		all := severalClass(sql)
		all.mentions, all.plain = c.mentions, !c.mentions
		return all
	}
	return s.relaxed(c)
}

// classifyOne returns the class of sql, of which it keeps nothing, if that is one statement.
func (s *session) classifyOne(sql string) *class {
	rest, _ := skipBlanks(sql)
	word := firstWord(rest)
	if isQuery(word) {
		return s.classifyQuery(sql, word)
	}
	if word == "" && isEmpty(sql) {
		return &emptyClass
	}
	k := &s.classes
	if k.byWord == nil {
		k.byWord = map[string]*class{}
	}
	c := k.byWord[word]
	if c == nil {
		known, ok := keywordClasses[word]
		if !ok {
			known = unknownClass
			known.forgets = word == "execute" || word == ""
			known.ends = word == ""
			known.defines = word == "create" || word == "alter" || word == "drop"
		}
		c = &known
		c.word = strings.Clone(word)
		if len(k.byWord) < maxClasses && len(word) <= longestWord {
			k.byWord[c.word] = c
		}
	}
	switch word {
	case "begin", "start", "set", "reset", "show", "commit", "rollback", "prepare", "deallocate", "discard", "do":
		return refine(c, rest)
	}
	return c
}

// refine completes the class of a statement whose effect depends on more than its first word, with which sql begins.
func refine(c *class, sql string) *class {
	low := strings.ToLower(sql)
	r := *c
	switch c.word {
	case "begin", "start":
		r.readOnly = strings.Contains(low, "read")
	case "rollback":
		if !endsBlock(low) { // to a savepoint: what was set since is undone
			r.ends, r.SetsSession = false, true
		}
	case "commit":
		r.Writes = strings.Contains(low, "prepared") // another transaction's writes
	case "prepare":
		what, _ := skipBlanks(low[len("prepare"):])
		if strings.HasPrefix(what, "transaction") {
			r.ends = true
		}
		r.replaces, r.forgets = statementName(sql[len(sql)-len(what):])
	case "deallocate":
		what, _ := skipBlanks(sql[len("deallocate"):])
		if word := firstWord(what); word == "prepare" {
			what, _ = skipBlanks(what[len(word):])
		}
		r.replaces, r.forgets = statementName(what)
	case "do": // what its body executes is in there
		r.forgets, _ = wordEffects(sql)
	case "discard":
		r.forgets = discardsStatements(sql[len("discard"):])
	case "set", "reset", "show":
		// SET TRANSACTION SNAPSHOT: the block is to read what another session exported.
		r.data = c.word == "set" && strings.Contains(low, "transaction") && strings.Contains(low, "snapshot")
		if strings.Contains(low, "freshet") {
			r.freshet, r.mentions, r.plain = true, c.word == "show", false
			if c.word == "set" {
				r.setting, r.value = parseSet(sql)
				r.plain = r.setting == ""
			}
			if c.word == "reset" {
				r.plain = true
			}
		}
	}
	return &r
}

// endsBlock reports whether a ROLLBACK, with which low begins, is one of the whole block: nothing but noise follows the word.
func endsBlock(low string) bool {
	rest := strings.TrimRight(low[len("rollback"):], "; \t\r\n\f\v")
	for {
		next, ok := skipBlanks(rest)
		if next == "" || !ok {
			return ok
		}
		word := firstWord(next)
		switch word {
		case "work", "transaction", "and", "no", "chain", "prepared":
			rest = next[len(word):]
		default:
			return next[0] == '\''
		}
	}
}

func (s *session) classifyQuery(sql, word string) *class {
	k := &s.classes
	if g := s.srv.cfg.Analytics.Generation(); k.byShape == nil || g != k.generation || len(k.byShape) >= maxClasses {
		k.byShape, k.generation = map[uint64]*class{}, g
		if k.hasher == (sqlshape.Hasher{}) {
			k.hasher = sqlshape.NewHasher()
		}
	}
	shape := k.hasher.Hash(sql)
	c := k.byShape[shape]
	if c == nil {
		own := strings.Clone(sql)
		c = &class{Candidate: s.srv.cfg.Analytics.Candidate(own), word: strings.Clone(word)}
		c.plain, c.data = c.Kind == Relay, !c.NoData
		if c.Kind != Relay && c.Point {
			relayed := *c
			relayed.Kind, relayed.plain = Relay, true
			c.relayed = &relayed
		}
		k.byShape[shape] = c
		if c.Inner != "" { // which holds the constants
			delete(k.byShape, shape)
		}
	}
	if c.Kind == Relay && strings.Contains(sql, "freshet.") {
		r := *c
		r.mentions, r.plain = true, false
		return &r
	}
	return c
}

// attended reports whether a statement of the class is attended to wherever it is executed, not only in some blocks.
func (c *class) attended() bool { return !c.plain || c.Kind != Relay }

// relaxed returns the class of a statement under the settings and in the block that there are.
func (s *session) relaxed(c *class) *class {
	if c.relayed != nil && !s.wantsColumnar && !s.block.columnar {
		return c.relayed
	}
	return c
}

// ofCatalogs returns the class of a statement of class c of which PostgreSQL has said that it reads system catalogs alone.
func (c *class) ofCatalogs() *class {
	r := *c
	r.Kind, r.NoData, r.plain, r.data = Relay, true, true, false
	return &r
}

// statementName returns the name of a prepared statement that sql begins with; all says that it is the word ALL, or not read here.
func statementName(sql string) (name string, all bool) {
	if quoted, ok := strings.CutPrefix(sql, `"`); ok {
		name, _, ok = strings.Cut(quoted, `"`)
		return name, !ok || strings.HasPrefix(sql[len(name)+2:], `"`)
	}
	n := strings.IndexFunc(sql, func(r rune) bool {
		return r != '_' && r != '$' && !('0' <= r && r <= '9') && !('a' <= r|0x20 && r|0x20 <= 'z')
	})
	if n < 0 {
		n = len(sql)
	}
	name = strings.ToLower(sql[:n])
	return name, name == "" || name == "all" || len(name) > longestWord || n < len(sql) && sql[n] >= utf8.RuneSelf
}

// firstWord returns the keyword that rest begins with, in lower case; empty when it begins with something else.
func firstWord(rest string) string {
	j := 0
	for j < len(rest) && (rest[j]|0x20 >= 'a' && rest[j]|0x20 <= 'z' || rest[j] == '_') {
		j++
	}
	return lower(rest[:j])
}

// isEmpty reports whether sql holds no statement: nothing but blanks, comments before them, and semicolons.
func isEmpty(sql string) bool {
	rest, ok := skipBlanks(sql)
	return ok && strings.Trim(rest, "; \t\r\n\f\v") == "" && !strings.Contains(sql, "(")
}

// skipBlanks returns what follows blanks, comments and parentheses; ok is false where a comment is not followed to its end.
func skipBlanks(sql string) (rest string, ok bool) {
	i := 0
	for i < len(sql) {
		switch c := sql[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v' || c == '(':
			i++
			continue
		case strings.HasPrefix(sql[i:], "--"):
			n := strings.IndexAny(sql[i:], "\n\r")
			if n < 0 {
				return "", true
			}
			i += n + 1
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			n := strings.Index(sql[i:], "*/")
			if n < 0 || strings.Contains(sql[i+2:i+n], "/*") {
				return "", false // a comment within a comment: not worth following
			}
			i += n + 2
			continue
		}
		break
	}
	return sql[i:], true
}

// lower returns the lower case of an ASCII word, without allocating for the usual ones.
func lower(word string) string {
	switch word {
	case "SELECT":
		return "select"
	case "INSERT":
		return "insert"
	case "UPDATE":
		return "update"
	case "DELETE":
		return "delete"
	case "BEGIN":
		return "begin"
	case "COMMIT":
		return "commit"
	}
	return strings.ToLower(word)
}

// parseSet takes SET [SESSION | LOCAL] freshet.name { = | TO } value apart. The name is empty where the
// statement is another one, sets the default, or has a comment: PostgreSQL handles those alone.
func parseSet(sql string) (name, value string) {
	_, rest := cutWord(strings.TrimRight(sql, "; \t\r\n\f\v")) // set
	word, rest := cutWord(rest)
	if word == "session" || word == "local" {
		word, rest = cutWord(rest)
	}
	if !strings.HasPrefix(word, "freshet.") {
		return "", ""
	}
	rest = strings.TrimSpace(rest)
	if after, ok := strings.CutPrefix(rest, "="); ok {
		rest = after
	} else if to, after := cutWord(rest); to == "to" {
		rest = after
	} else {
		return "", ""
	}
	rest = strings.TrimSpace(rest)
	if strings.EqualFold(rest, "default") || strings.Contains(rest, "--") || strings.Contains(rest, "/*") {
		return "", ""
	}
	for _, quote := range []string{"'", `"`} {
		if len(rest) >= 2 && strings.HasPrefix(rest, quote) && strings.HasSuffix(rest, quote) {
			return word, strings.ReplaceAll(rest[1:len(rest)-1], quote+quote, quote)
		}
	}
	return word, strings.ToLower(rest)
}

// cutWord takes the first word, lower case and without double quotes, from s.
func cutWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t\r\n\f\v")
	i := strings.IndexAny(s, " \t\r\n\f\v=")
	if i < 0 {
		i = len(s)
	}
	return strings.ReplaceAll(strings.ToLower(s[:i]), `"`, ""), s[i:]
}
