package pgwire

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/freshet-io/freshet/e2e/sqlnames"
)

// What is asked on a session's connection must mean the same whatever the session has in its search path.
func TestQuestions_nameNothingThatTheSearchPathDecides(t *testing.T) {
	s := &session{srv: &Server{cfg: Config{}.withDefaults()}}
	for what, sql := range map[string]string{
		"settings":          infoSQL,
		"types of a cursor": columnTypesSQL("c", []string{"(0, 23, -1)"}),
		"own settings":      s.tellSQL("SHOW ALL " + settingRoute + settingFreshness + settingMaxStaleness + settingMinSnapshot),
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
