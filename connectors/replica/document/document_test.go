package document_test

import (
	"encoding/json"
	"testing"

	"github.com/freshet-io/freshet/connectors/replica/document"
)

func TestAppend_writesKeysByTheirDepth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`: ` {}`,
		`{"a": 1, "b": {"a": {"a": [1, {"a": 2}]}}, "c": [{"d": null}]}`: ` {"a":1, "b":{"a" :{"a"  :[1, {"a"   :2}]}}, "c":[{"d" :null}]}`,
		`{"a": "x: y", "b": "http://é"}`:                                 ` {"a":"x: y", "b":"http://é"}`,
		`{"a": "x : y"}`:                                                 `  {"a":"x : y"}`,
		`{"a": ":"}`:                                                     `  {"a":":"}`,
		`{"a": "]"}`:                                                     `  {"a":"]"}`,
		`{"}": 1}`:                                                       `  {"}":1}`,
		`{"a": "\"b\": \\", "b": 2}`:                                     `  {"a":"\"b\": \\", "b":2}`,
		// As PostgreSQL writes them.
		`{"a\"b": 1}`:        `{"a\"b": 1}`,
		`{"x": {"a\\": 1}}`:  `{"x": {"a\\": 1}}`,
		`[{"a": 1}]`:         `[{"a": 1}]`,
		`null`:               `null`,
		`" {"`:               `" {"`,
		`{"a":1}`:            `{"a":1}`,
		`{"a": 1,"b": 2}`:    `{"a": 1,"b": 2}`,
		`{ "a": 1}`:          `{ "a": 1}`,
		`{"a" : 1}`:          `{"a" : 1}`,
		` {"a":1}`:           ` {"a":1}`,
		`{"a": "not closed`:  `{"a": "not closed`,
		`{"a": {"b": 1}`:     `{"a": {"b": 1}`,
		`{"a": "backslash\`:  `{"a": "backslash\`,
		`{"a": 1, "b": true`: `{"a": 1, "b": true`,
	} {
		if got := string(document.Append([]byte("x"), []byte(text))); got != "x"+want {
			t.Errorf("%s is stored as %q, want %q", text, got[1:], want)
		}
	}
}

// FuzzAppend finds a document that does not come back as it was, or that is another one to whoever parses the stored form.
func FuzzAppend(f *testing.F) {
	for _, text := range []string{
		`{"a": 1, "b": {"a": ["x, \"y\": ", {"c": null}], "": {}}}`, `{"a": ": , \\"}`, `[1, 2]`, `{"a": "é : ", "b": []}`, ``, ` `, `{"`, `{"\`, `{"a": {"b": {"c": {"d": 1}}}}`,
		`{{{{{{{{{{{{{{{{{{{{{{}`, `}`, `{"a": 1}: {"b": 2}`, `{"a", : `,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 0 && text[0] == ' ' { // PostgreSQL writes none
			return
		}
		stored := document.Append(nil, []byte(text))
		if back := string(document.AppendText(nil, stored)); back != text {
			t.Errorf("%q is stored as %q, and comes back as %q", text, stored, back)
		}
		var before, after any
		if json.Unmarshal([]byte(text), &before) != nil {
			return
		}
		if err := json.Unmarshal(stored, &after); err != nil {
			t.Fatalf("%q is stored as %q: %v", text, stored, err)
		}
		a, _ := json.Marshal(before)
		if b, _ := json.Marshal(after); string(a) != string(b) {
			t.Errorf("%q is stored as %q, another document", text, stored)
		}
	})
}
