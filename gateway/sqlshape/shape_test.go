package sqlshape

import (
	"strings"
	"testing"
)

func TestHash_ignoresLiteralsOnly(t *testing.T) {
	h := NewHasher()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"SELECT a FROM t WHERE id = 12", "SELECT a FROM t WHERE id = 7", true},
		{"SELECT 'x''y', $t$ 'a $t$", "SELECT '', $$b$$", true},
		{"SELECT E'a\\'b', 1", "SELECT 'b', 1", true},
		{"SELECT E'a'\n'b\\'', f(1), 'x'", "SELECT E'a'\n'b\\'', 1, 'x'", false},
		{"SELECT E'a' -- it's\r\n\t-- x\n '\\'' , f(1), 'x'", "SELECT E'a' -- it's\r\n\t-- x\n '\\'' , 1, 'x'", false},
		{"SELECT E'a'\n'b', 1", "SELECT E'a', 1", true},
		{"SELECT 1.5e-3", "SELECT .5", true},
		{"SELECT a1 FROM t", "SELECT a2 FROM t", false},
		{`SELECT "a 1"`, `SELECT "a 2"`, false},
		{"SELECT $1", "SELECT $2", false},
		{"SELECT 1 -- 'x'\n, 2", "SELECT 5 -- 'x'\n, 'y'", true},
		{"SELECT --\r 'a\n', f(1), 'x'", "SELECT --\r 'a\n', 1, 'x'", false},
		{"SELECT 1 -- 'x'\r, 2", "SELECT 5 -- 'x'\r, 'y'", true},
		{"SELECT 1 /* ' */ , 'a'", "SELECT 1 /* ' */ , 'b'", true},
		{"SELECT 1 /* ' */ FROM a", "SELECT 1 /* ' */ FROM b", false},
		{"SELECT 'a' FROM t; DELETE FROM t", "SELECT 'a' FROM t", false},
		{"SELECT 'open", "SELECT 'other", false},
		{"SELECT a-1", "SELECT a-2", true},
		{"SELECT 1-a", "SELECT 1-b", false},
		{"SELECT U&'a'", "SELECT U&'b'", false},
		{"SELECT a ?| b", "SELECT a 1| b", false},
	} {
		if got := h.Hash(c.a) == h.Hash(c.b); got != c.same {
			t.Errorf("%q and %q: same shape %v, want %v", c.a, c.b, got, c.same)
		}
	}
}

func FuzzHash_dependsOnTheShapeAlone(f *testing.F) {
	f.Add("SELECT '", "", "it's")
	f.Add("$$", "$$", "\\")
	f.Add("/*/**/", "/*", "--")
	f.Add("?", "?", "\x00")
	h := NewHasher()
	f.Fuzz(func(t *testing.T, sql, a, b string) {
		if h.Hash(sql) != h.Hash(strings.Clone(sql)) {
			t.Errorf("two hashes of %q differ", sql)
		}
		withA, withB := selectLiteral(a, sql), selectLiteral(b, sql)
		if h.Hash(withA) != h.Hash(withB) {
			t.Errorf("%q and %q have different shapes", withA, withB)
		}
	})
}

// selectLiteral puts a quoted literal before the rest of a statement.
func selectLiteral(value, rest string) string {
	return "SELECT '" + strings.ReplaceAll(value, "'", "''") + "', " + rest
}

func BenchmarkHash_pointRead(b *testing.B) {
	h := NewHasher()
	for b.Loop() {
		h.Hash("SELECT abalance FROM pgbench_accounts WHERE aid = 812345;")
	}
}
