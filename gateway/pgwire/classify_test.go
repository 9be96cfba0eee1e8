package pgwire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Clients that trace put comments before and behind their statements.
func TestClassify_looksPastComments(t *testing.T) {
	type effects struct{ Begins, Ends, ReadOnly, Leaves, Freshet bool }
	for sql, want := range map[string]effects{
		"ROLLBACK":               {Ends: true},
		"/*dddbs='x'*/ ROLLBACK": {Ends: true},
		"-- why\nrollback /*traceparent='00-1'*/;":   {Ends: true},
		"-- why\rROLLBACK":                           {Ends: true},
		"ROLLBACK AND/**/CHAIN -- again":             {Ends: true},
		"ROLLBACK PREPARED 'p'":                      {Ends: true},
		"ROLLBACK TO s":                              {},
		"/*a*/ ROLLBACK /*b*/ WORK /*c*/ TO s":       {},
		"ROLLBACK /* a /* nested */ comment */":      {},
		"/*a*/PREPARE/*b*/TRANSACTION 'p'":           {Ends: true},
		"PREPARE\n transaction 'p'":                  {Ends: true},
		"PREPARE transactions AS SELECT 1":           {Ends: true}, // at worst the settings are asked for once more
		"PREPARE p AS SELECT 1":                      {},
		"/*a*/ BEGIN READ ONLY":                      {Begins: true, ReadOnly: true},
		"/*a*/ SET freshet.route = 'columnar'":       {Freshet: true},
		"/*a*/ ROLLBACK /*b*/; SELECT 1":             {Ends: true, ReadOnly: true, Leaves: true},
		"/*a*/ ROLLBACK TO s; SELECT 1":              {Ends: true, ReadOnly: true}, // may do anything
		"/*a*/ " + strings.Repeat("x", 100) + " = 1": {ReadOnly: true},
	} {
		c := new(session).classify(sql)
		if diff := cmp.Diff(want, effects{c.begins, c.ends, c.readOnly, c.leaves, c.freshet}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", sql, diff)
		}
	}
}

func TestClassify_remembersOnlySoManyWords(t *testing.T) {
	var s session
	word := ""
	for range 2 * maxClasses {
		word += "x"
		s.classify(word + " y")
	}
	for i := range 2 * maxClasses {
		s.classify(strings.Repeat("y", i%60) + strings.Repeat("z", 1+i/60) + " y")
	}
	if n := len(s.classes.byWord); n > maxClasses {
		t.Errorf("%d words", n)
	}
	for w := range s.classes.byWord {
		if len(w) > longestWord {
			t.Errorf("a word of %d bytes", len(w))
		}
	}
}
