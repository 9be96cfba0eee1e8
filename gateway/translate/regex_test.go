package translate_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/engine"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/translate"
)

// strange is a table of texts.
type strange struct{}

func (strange) Table([]string, string, string) (*cdc.Table, bool) {
	return &cdc.Table{ID: 8, Schema: "public", Name: "strange", Key: []int{1, 0}, Columns: []cdc.Column{
		{Name: "id", Type: 23, Modifier: -1, NotNull: true, Attr: 1},
		{Name: "s", Type: 25, Modifier: -1, NotNull: true, Attr: 2, Collation: `pg_catalog."default"`},
		{Name: "c", Type: 1042, Modifier: 6 + 4, Attr: 3, Collation: `pg_catalog."en-x-icu"`},
	}}, true
}

// Letters whose other case is not the only one, letters of several bytes, ends of lines, and what patterns are made of.
var letters = []string{"a", "A", "b", "B", "c", "k", "K", "\u212a", "s", "S", "ſ", "i", "I", "ı", "İ", "é", "É", "ß", "日", "😀", "\n", "\r", "\t", " ",
	"0", "1", "9", "-", "_", "%", ".", ",", "*", "+", "?", "(", ")", "[", "]", "{", "}", "|", "^", "$", `\`, "/", "'", `"`, "#", "&", "~", "@"}

func strangeTexts(rng *rand.Rand) []string {
	texts := []string{"", "\n", "a", "a\n", "\na", "a\nb", "abc", "ABC", " ", "      ", "a ", "K", "\u212a"}
	for range 500 {
		var b strings.Builder
		some := letters
		if rng.IntN(2) == 0 {
			some = letters[:8]
		}
		for range rng.IntN(7) {
			b.WriteString(some[rng.IntN(len(some))])
		}
		texts = append(texts, b.String())
	}
	return texts
}

func literalOf(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func engineLiteral(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

// patternOf draws a pattern near the subset that is translated.
func patternOf(t *rapid.T, depth int) string {
	one := func(choice ...string) string { return rapid.SampledFrom(choice).Draw(t, "choice") }
	if depth == 0 {
		return rapid.OneOf(rapid.SampledFrom(letters[:24]), rapid.SampledFrom(letters)).Draw(t, "letter")
	}
	switch rapid.IntRange(0, 12).Draw(t, "kind") {
	case 0, 1, 2:
		return patternOf(t, depth-1) + patternOf(t, depth-1)
	case 3:
		return patternOf(t, depth-1) + one("|", "|", "||") + patternOf(t, depth-1)
	case 4, 5:
		return one("(", "(?:", "(", "(?i)", "(?=") + patternOf(t, depth-1) + ")" + one("", "", "*", "+", "?")
	case 6, 7:
		return patternOf(t, depth-1) + one("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,1}", "{2,}", "{0}", "{1,1}?", "{,2}", "{2,1}", "**", "?+")
	case 8:
		return one("^", "") + patternOf(t, depth-1) + one("$", "")
	case 9:
		set := ""
		for range rapid.IntRange(1, 3).Draw(t, "members") {
			set += rapid.OneOf(rapid.SampledFrom(letters), rapid.SampledFrom([]string{"a-c", "A-Z", "0-9", `\-`, `\]`, `\\`, "b-a", "a-", " -~", `\.`, "+--", "[:alpha:]", "[.a.]", "A-z"})).Draw(t, "member")
		}
		return "[" + one("", "", "^") + set + "]"
	case 10:
		return one(".", ".*", ".+", "...", ".?")
	case 11:
		return one(`\.`, `\*`, `\\`, `\n`, `\t`, `\r`, `\d`, `\w`, `\s`, `\y`, `\A`, `\1`, `\-`, `\_`, `\/`, `\'`, `\"`, `\ `, `\é`, `\x41`, `\%`, "***=a", "***:a")
	}
	return patternOf(t, depth-1)
}

func TestRegularExpressions_matchAsInPostgreSQL(t *testing.T) {
	conn, client := loadStrange(t)
	matched, refused := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		var conditions []string
		for range 12 {
			condition := rapid.SampledFrom([]string{"s", "s", "c"}).Draw(r, "column") + " " +
				rapid.SampledFrom([]string{"~", "~", "!~", "~*", "!~*", "SIMILAR TO", "NOT SIMILAR TO"}).Draw(r, "operator") + " " + literalOf(patternOf(r, rapid.IntRange(0, 5).Draw(r, "depth")))
			if isTranslated(condition) {
				conditions = append(conditions, condition)
				matched++
			} else {
				refused++
			}
		}
		if len(conditions) == 0 {
			return
		}
		for _, sql := range []string{
			"SELECT id, " + strings.Join(conditions, ", ") + " FROM strange ORDER BY id",
			"SELECT id FROM strange WHERE " + conditions[0] + " ORDER BY id",
		} {
			if _, err := compareAnswers(t.Context(), conn, client, strange{}, sql); err != nil {
				r.Fatalf("%s: %v", sql, err)
			}
		}
	})
	t.Logf("%d patterns matched, %d refused", matched, refused)
}

func isTranslated(condition string) bool {
	tree, err := syntax.Parse("SELECT id FROM strange WHERE " + condition)
	if err != nil {
		return false
	}
	_, err = translate.Translate(tree, translate.Env{Catalog: strange{}, TimeZone: "UTC", Fields: []translate.Field{{TypeOID: 23}}})
	return err == nil
}

// replacingPattern draws a pattern near the subset by which matches are replaced.
func replacingPattern(t *rapid.T) string {
	one := func(choice ...string) string { return rapid.SampledFrom(choice).Draw(t, "choice") }
	p := one("", "", "^")
	for range rapid.IntRange(1, 4).Draw(t, "pieces") {
		atom := rapid.OneOf(
			rapid.SampledFrom([]string{"a", "b", "ab", "k", "s", " ", "[ab]", "[^a]", "[^/]", "[a-z]", "[0-9]", ".", `\.`, "/", "(?:ab)", "(?:a)", "é"}),
			rapid.Custom(func(t *rapid.T) string { return patternOf(t, 2) })).Draw(t, "atom")
		atom += one("", "", "*", "+", "?", "{1,2}", "{2}", "*?")
		p += one(atom, atom, "("+atom+")", "(?:"+atom+")", "("+atom+")?")
	}
	return p + one("", "", "$")
}

func TestRegexpReplace_replacesAsInPostgreSQL(t *testing.T) {
	conn, client := loadStrange(t)
	// What PostgreSQL makes as long as it can are several repetitions together.
	for _, pattern := range []string{
		"^[a-z]+(?:ab)?([0-9]*)$", "^a+(?:ab)?(b*)$", "^a{1,2}(?:ab)?(b*)$", "^((a+)(?:ab)?)(b*)$", "^(?:ab)+(?:abc)?(c*)$", "^a?(?:ab)?(b+)$", "^[^/]+(?:b/)?(/?)$",
		"^(a+)(?:ab)?(b*)$", `^https?://(?:www\.)?([^/]+)/.*$`, `^(?:a)?([^/]+)/.*$`, "^(.*)([ab]+)$", "^.*(a)$", "^a?([ab]+)(b)c?$",
		"^.*a", ".*b", "a.*b", "(a.*)b", "a(.*b)", "(.*)ab", "[ab]+b", "b?[ab]+(b)", "[^/]*a.", "(?:ab)*a", "[ab]*(a)b", "a.*b[^/]*", ".*a.*b",
	} {
		value := "regexp_replace(s, " + literalOf(pattern) + `, '<\1>')`
		if !isTranslated(value + " = ''") {
			if strings.HasPrefix(pattern, "^https") {
				t.Errorf("%s is not translated", pattern)
			}
			continue
		}
		texts := "(SELECT id, replace(replace(replace(left(s, 4), 'A', 'a'), 'B', 'b'), 'k', 'ab') AS s FROM strange) t"
		if _, err := compareAnswers(t.Context(), conn, client, strange{}, "SELECT id, "+value+" FROM "+texts+" ORDER BY id"); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	replaced, refused := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		var values []string
		for range 12 {
			pattern := replacingPattern(r)
			by := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"x", "", `\1`, `\2`, `\&`, `\\`, "$1", "é", "'", `\`}), 0, 3).Draw(r, "by"), "")
			value := "regexp_replace(" + rapid.SampledFrom([]string{"s", "s", "c"}).Draw(r, "column") + ", " + literalOf(pattern) + ", " + literalOf(by)
			if flags := rapid.SampledFrom([]string{"-", "-", "", "g", "g", "i", "gi", "n"}).Draw(r, "flags"); flags != "-" {
				value += ", " + literalOf(flags)
			}
			if value += ")"; isTranslated(value + " = ''") {
				values = append(values, value)
				replaced++
			} else {
				refused++
			}
		}
		if len(values) == 0 {
			return
		}
		sql := "SELECT id, " + strings.Join(values, ", ") + " FROM strange ORDER BY id"
		if _, err := compareAnswers(t.Context(), conn, client, strange{}, sql); err != nil {
			r.Fatalf("%s: %v", sql, err)
		}
	})
	t.Logf("%d patterns replaced, %d refused", replaced, refused)
	if replaced == 0 {
		t.Error("no pattern was translated")
	}
}

// loadStrange puts texts into a table of PostgreSQL and of the engine.
func loadStrange(t *testing.T) (*pgconn.PgConn, *engine.Client) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("texts of seed %d", seed)
	var rows, tuples []string
	for i, s := range strangeTexts(rand.New(rand.NewPCG(seed, 2))) {
		short := string([]rune(s)[:min(len([]rune(s)), 6)])
		rows = append(rows, fmt.Sprintf("(%d, %s, %s)", i, literalOf(s), literalOf(short)))
		tuples = append(tuples, fmt.Sprintf("(%d, %s, %s)", i, engineLiteral(s), engineLiteral(strings.TrimRight(short, " "))))
	}
	return load(t, []string{
		`CREATE TABLE strange (id int PRIMARY KEY, s text NOT NULL, c char(6) COLLATE "en-x-icu")`, "INSERT INTO strange VALUES " + strings.Join(rows, ",") + ", (-1, '', NULL)",
	}, []string{
		"CREATE TABLE strange (id Int32, s String, c Nullable(String)) ENGINE = MergeTree ORDER BY (s, id) SETTINGS index_granularity = 4",
		"INSERT INTO strange VALUES " + strings.Join(tuples, ",") + ", (-1, '', NULL)",
	})
}
