package syntax

import (
	"strings"
	"testing"
)

// However deep a statement nests, it is relayed or parsed; it does not end the process.
func TestClassify_survivesNesting(t *testing.T) {
	forms := map[string]func(n int) string{
		"sums":      func(n int) string { return "SELECT " + strings.Repeat("1+", n) + "1 FROM t" },
		"tests":     func(n int) string { return "SELECT 1 " + strings.Repeat("ISNULL ", n) + "FROM t" },
		"casts":     func(n int) string { return "SELECT 1" + strings.Repeat("::a", n) + " FROM t" },
		"quoted":    func(n int) string { return "SELECT 1" + strings.Repeat(`::"a"`, n) + " FROM t" },
		"unions":    func(n int) string { return "SELECT 1" + strings.Repeat(" UNION SELECT 1", n) },
		"joins":     func(n int) string { return "SELECT 1 FROM a" + strings.Repeat(" CROSS JOIN a", n) },
		"negations": func(n int) string { return "SELECT " + strings.Repeat("NOT ", n) + "true FROM t" },
		"brackets": func(n int) string {
			return "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n) + " FROM t"
		},
		"subqueries": func(n int) string { return strings.Repeat("SELECT (", n) + "SELECT 1" + strings.Repeat(")", n) },
		"calls": func(n int) string {
			return "SELECT " + strings.Repeat("f(", n) + "1" + strings.Repeat(")", n) + " FROM t"
		},
		"zones": func(n int) string { return "SELECT 1" + strings.Repeat(" AT LOCAL", n) + " FROM t" },
		"cases": func(n int) string {
			return "SELECT " + strings.Repeat("CASE WHEN ", n) + "1" + strings.Repeat(" THEN 1 END", n) + " FROM t"
		},
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{400, 2_400, 7_000, 14_900, 200_000} {
				if c := Classify(form(n)); c.Candidate && n > 14_900 {
					t.Errorf("%d levels are a candidate", n)
				}
			}
			if _, err := Parse(form(100)); err != nil {
				t.Errorf("100 levels are relayed: %v", err)
			}
		})
	}
}

func TestClassify_parsesLongLists(t *testing.T) {
	for name, list := range map[string]string{"numbers": strings.Repeat("123456, ", 100_000), "parameters": strings.Repeat("$1,", 100_000), "codes": strings.Repeat("'17-4',", 2_000)} {
		if c := Classify("SELECT id FROM t WHERE id IN (" + strings.TrimRight(list, ", ") + ")"); !c.Candidate {
			t.Errorf("a long list of %s is no candidate: %s", name, c.Reason)
		}
	}
}
