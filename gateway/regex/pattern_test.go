package regex

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatch_rewrites(t *testing.T) {
	for _, c := range []struct {
		pattern string
		fold    bool
		want    Pattern
	}{
		{"", false, Pattern{}},
		{"a.b", false, Pattern{Text: "(?:a.b)"}},
		{"^a|b$", false, Pattern{Text: "(?:^a|b$)"}},
		{"(a)(?:b)", false, Pattern{Text: "(?:(?:a)(?:b))"}},
		{"k1", true, Pattern{Text: `(?:[\x00Kk]1)`}},
		{"é+", false, Pattern{Text: "(?:(?:é)+)"}},
		{`\.\n`, false, Pattern{Text: "(?:\\.\n)"}},
		{`[]a-c-]`, false, Pattern{}},
		{`[^a-c_-]`, false, Pattern{Text: `(?:[^\-_a-c])`}},
		{`\d{2,3}?`, false, Pattern{Text: "(?:[0-9]{2,3})", Classes: Classes{Some: true}}},
		{`\s`, false, Pattern{Text: "(?:[\t-\r ])", Classes: Classes{Some: true, Space: true}}},
		{"(a{20}){10}", false, Pattern{Text: "(?:(?:a{20}){10})"}},
		{"(a{21}){10}", false, Pattern{}},
		{"a**", false, Pattern{}},
		{`(a)\1`, false, Pattern{}},
		{"a(?=b)", false, Pattern{}},
		{"[[:alpha:]]", false, Pattern{}},
		{"(^a)*", false, Pattern{}},
		{"a)", false, Pattern{}},
		{"(a", false, Pattern{}},
	} {
		got, err := Match(c.pattern, c.fold)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == ErrForm) != (c.want.Text == "") {
			t.Errorf("%s: %v (-want +got):\n%s", c.pattern, err, diff)
		}
	}
}

func TestCapture_takesWhatBothMatchAlike(t *testing.T) {
	for pattern, want := range map[string]int{
		"[0-9]+": 0, "([^/]+)/": 1, "^(a)(b)$": 2, "^.*@": 0, `^https?://(?:www\.)?([^/]+)/.*$`: 1,
		"a|ab": -1, "a*?": -1, "(a*)*": -1, "a*": -1, "[ab]*b*c": -1, "": -1,
	} {
		if got, err := Capture(pattern, false); err == nil && got.Groups != want || (err == ErrForm) != (want < 0) {
			t.Errorf("%s: %d groups, %v; want %d", pattern, got.Groups, err, want)
		}
	}
}

func TestReplacement_namesGroups(t *testing.T) {
	p := Pattern{Groups: 1}
	for by, want := range map[string]string{"x$1": "x$1", `<\1>\&`: `<\1>\0`, `\2`: "", `\\`: "", `a\`: ""} {
		if got, err := p.Replacement(by); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", by, got, err, want)
		}
	}
}

func TestAsLike_takesPatternsWithoutOperators(t *testing.T) {
	for pattern, want := range map[string]string{"a_b": `%a\_b%`, "^a": "a%", "a$": "%a", "^50%$": `50\%`, "a.": "", "^": ""} {
		if got, ok := AsLike(pattern, false); got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v; want %q", pattern, got, ok, want)
		}
	}
	if got, ok := AsLike("a", true); ok {
		t.Errorf("a pattern that ignores case is %s", got)
	}
}

func TestSimilar_isARegularExpression(t *testing.T) {
	for pattern, want := range map[string]string{"a%": "^(?:a.*)$", "(a|b)_": "^(?:(?:a|b).)$", "a.b": `^(?:a\.b)$`, "[%_]": "^(?:[%_])$", `\%`: `^(?:\%)$`, `\a`: "", `a\`: ""} {
		if got, err := Similar(pattern); got != want || (err != nil) != (want == "") {
			t.Errorf("%s: %q, %v; want %q", pattern, got, err, want)
		}
	}
}
