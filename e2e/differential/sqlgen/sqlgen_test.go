package sqlgen

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGenerate_isAFunctionOfTheSeed(t *testing.T) {
	for seed := range uint64(5) {
		a, b := NewWorld(seed), NewWorld(seed)
		for n := range uint64(50) {
			if d := cmp.Diff(a.Generate(n), b.Generate(n)); d != "" {
				t.Fatalf("world %d query %d differs from one time to the next:\n%s", seed, n, d)
			}
		}
	}
}

func TestNewWorld_tablesAreWellFormed(t *testing.T) {
	for seed := range uint64(50) {
		for _, table := range NewWorld(seed).Tables {
			keys := map[string]bool{}
			for _, row := range table.Rows {
				key := ""
				for _, k := range table.Key {
					key += *row[k] + "\x00"
				}
				if keys[key] {
					t.Fatalf("world %d table %s: key %q occurs twice", seed, table.Name, key)
				}
				keys[key] = true
				for i, c := range table.Columns {
					if c.NotNull && row[i] == nil {
						t.Fatalf("world %d table %s: NULL in %s", seed, table.Name, c.Name)
					}
				}
			}
		}
	}
}

func TestQuoteIdent_quotesWhatNeedsIt(t *testing.T) {
	for in, want := range map[string]string{"a_1": "a_1", "A": `"A"`, "select": `"select"`, `x"y`: `"x""y"`, "1a": `"1a"`} {
		if got := QuoteIdent(in); got != want {
			t.Errorf("QuoteIdent(%q) = %s, want %s", in, got, want)
		}
	}
}
