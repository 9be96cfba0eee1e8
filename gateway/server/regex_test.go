package server_test

import (
	"fmt"
	"strings"
	"testing"
)

// words are texts with what classes tell apart: ASCII's blanks, separators that are blanks for ICU only, digits and letters beyond ASCII.
var words = []string{
	"", "a", "abc 123", "123", "12-34", "order-0042/x", "x@example.com", "https://www.example.com/a/b?q=1", "a\nb 7", "7\n", " lead", "trail ", "tab\there", "_under_score", "ABC", "a1b2c3", "2024-02-29", "+49 30 123", "key=value; k2=v2",
	"k", "aaa", "a\x0bb", "it's", `back\slash`, ".", "5.", "(x)", "a|b", "^$", "..", "-7e+10",
	"a\x1cb", "a\x1fb", "éa1", "日本 5", "\u212a", "ſ5", "٣", "a\u00a0b", "a\u2003b 1",
}

const asciiWords = 31

func TestGateway_findsPartsOfTextsAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	schema := `CREATE TABLE word (id int PRIMARY KEY, s text, c text COLLATE "C", i text COLLATE "en-x-icu", p char(12), v varchar(60)); INSERT INTO word SELECT id, s, s, s, left(s, 12), s FROM (VALUES (-1, NULL)`
	for i, w := range words {
		schema += fmt.Sprintf(", (%d, E'%s')", i, strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(w))
	}
	schema += ") x (id, s)"
	var run, left []string
	add := func(statement string, of ...any) {
		run = append(run, fmt.Sprintf("SELECT id, "+statement+fmt.Sprintf(" FROM word WHERE id < %d ORDER BY id", asciiWords), of...))
	}
	for _, pattern := range []string{
		`\d+`, `\d`, `^\d+$`, `\D+`, `\w+`, `\W`, `^\w+$`, `\s`, `\S+`, `[\d.]+`, `[\w-]+`, `[^\s]+`, `^\s*$`, `\d{3}`, `\d{2}-\d{2}`, `[a-z]+\d`, `^(\d+)-(\d+)`, `a\d|b\d`, `^\S+\s\S+$`, `(?:\d)+`, `[^\d_]`,
	} {
		for _, column := range []string{"s", "c", "i", "p", "v"} {
			add("%[1]s ~ '%[2]s', %[1]s !~ '%[2]s', %[1]s ~* '%[2]s', regexp_like(%[1]s, '%[2]s'), regexp_like(%[1]s, '%[2]s', 'i')", column, pattern)
		}
		left = append(left, fmt.Sprintf("SELECT id, s ~ '%s' FROM word ORDER BY id", pattern))
	}
	for _, pattern := range []string{
		`\d+`, "[0-9]+", "^[a-z]+", "[a-z]+$", `(\d+)`, "([a-z]+)=([a-z]+)", "@(.+)$", `^([^-]*)-(\d+)`, `\w+`, "a(.)", "(.)(.)(.)", "k([0-9])", "^[^@]+", `\s\S`,
	} {
		for _, column := range []string{"s", "c", "i", "p", "v"} {
			add("substring(%[1]s FROM '%[2]s'), substring(%[1]s, '%[2]s'), (regexp_match(%[1]s, '%[2]s'))[1], regexp_substr(%[1]s, '%[2]s')", column, pattern)
		}
		add("regexp_replace(s, '%s', '<\\&>', 'g')", pattern)
	}
	add("(regexp_match(s, '([a-z]+)=([a-z]+)'))[2], (substring(s FROM '[0-9]+'))::numeric + 1")
	run = append(run, "SELECT substring(s FROM '[a-z]+') AS part, count(*) FROM word GROUP BY 1 ORDER BY 2 DESC, 1 NULLS FIRST", "SELECT id, substring(s FROM '[0-9]+') FROM word WHERE (regexp_match(v, '[a-z]'))[1] = 'a' ORDER BY id")
	for _, expression := range []string{
		`s ~ '\ya'`, `s ~ '\mk'`, `s ~ '[\d-z]'`, `s ~ '(a)\1'`, "substring(s FROM 'a*')", "substring(s FROM '(a)?b')", "substring(s FROM '(a|b+)')", "substring(s FROM c)", `substring(s FROM '#"a#"%' FOR '#')`, "(regexp_match(s, 'a'))[2]", "(regexp_match(s, '[0-9]+'))[1:1]",
		"(regexp_match(s, '([0-9])', 'i'))[1]", "regexp_match(s, 'a')", "regexp_substr(s, 'a', 2)", "regexp_like(s, 'a', 'n')", "regexp_count(s, 'a')",
	} {
		left = append(left, "SELECT id, "+expression+" FROM word ORDER BY id")
	}
	columnar, oltp := start(t, schema).routes()
	wantAlikeIn(t, columnar, oltp, 1, run)
	for _, sql := range left {
		if alike(t, columnar, oltp, sql, inOrder) != refused {
			t.Errorf("%s ran on the replica", sql)
		}
	}
}
