package analytics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/freshet-io/freshet/e2e/sqlnames"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/translate"
)

// What is asked on a session's connection must mean the same whatever the session has in its search path.
func TestQuestions_nameNothingThatTheSearchPathDecides(t *testing.T) {
	names := syntax.Names{Functions: []string{"lower"}, Operators: []string{"=", "'"}, Applied: []string{"=", "+"}, Bound: []string{"="}, Casts: true, Called: []string{"lower", "abs"}}
	for what, sql := range map[string]string{
		"privileges and definitions": checkSQL([]translate.Access{{ID: 1}, {ID: 2, As: 10}, {ID: 2}}) + overloadSQL(names),
		"hidden effects":             hiddenSQL,
		"time":                       timeSQL,
		"ranks":                      rankSQL(`pg_catalog."C"`, []string{"a", "b"}),
	} {
		found, err := sqlnames.Unqualified(sql)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{}, found, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s\n%s", what, sql, diff)
		}
	}
}
