package document_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/freshet-io/freshet/connectors/replica/document"
)

func TestAppend_writesKeysByTheirDepth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:   `{}`,
		`null`: `null`,
		`{"a": 1, "b": {"a": {"a": [1, {"a": 2}]}}, "c": [{"d": null}]}`: `{"a":1, "b":{"a" :{"a"  :[1, {"a"    :2}]}}, "c":[{"d"  :null}]}`,
		`[{"a": 1}, [{"a": 1}]]`:                                         `[{"a" :1}, [{"a"  :1}]]`,
		`{"a": "x: y", "b": "http://é", "c": ":"}`:                       `{"a":"x: y", "b":"http://é", "c":"\u003a"}`,
		`{"a": "x : y", ":": "]}"}`:                                      `{"a":"x \u003a y", "\u003a":"]}"}`,
		`{"a": "[{\n", "\"": 1}`:                                         `{"a":"\u005b\u007b\n", "\u0022":1}`,
		`{"a": "\"b\": \\", "b": 2}`:                                     `{"a":"\u0022b\u0022: \u005c", "b":2}`,
		`"\\u005b\u001f"`:                                                `"\u005cu005b\u001f"`,
		strings.Repeat("[", 100) + `{"a": 1}` + strings.Repeat("]", 100): strings.Repeat("[", 100) + `{"a"` + strings.Repeat(" ", document.Depth) + `:1}` + strings.Repeat("]", 100),
	} {
		got, err := document.Append([]byte("x"), []byte(text))
		if string(got) != "x"+want || err != nil {
			t.Errorf("%s is stored as %q, %v, want %q", text, got[1:], err, want)
		}
	}
}

func TestAppend_refusesWhatPostgreSQLDoesNotWrite(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		``, `{"a":1}`, `{"a": 1,"b": 2}`, `{ "a": 1}`, `{"a" : 1}`, ` {"a": 1}`, `{"a": "not closed`, `{"a": {"b": 1}`, `{"a": "backslash\`, `{"a": 1, "b": true`, `["\u005b"]`, `: 1`, `"a": 1`,
	} {
		if got, err := document.Append([]byte("x"), []byte(text)); !errors.Is(err, document.ErrForm) || string(got) != "x" {
			t.Errorf("%s: %q, %v, want an error", text, got, err)
		}
	}
}

func TestKey_isWrittenAsInDocuments(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", "", ":", " : [{", "]}", "é"} {
		if stored, err := document.Append(nil, []byte(`{"`+key+`": 1}`)); err != nil || string(stored) != `{"`+document.Key(key)+`":1}` {
			t.Errorf("%q is %q, and is stored in %s, %v", key, document.Key(key), stored, err)
		}
	}
}

// FuzzAppend finds a document that does not come back as it was, or that is another one to whoever parses the stored form.
func FuzzAppend(f *testing.F) {
	for _, text := range []string{
		`{"a": 1, "b": {"a": ["x, \"y\": ", {"c": null}], "": {}}}`, `{"a": ": , \\"}`, `[1, 2]`, `{"a": "é : ", "b": []}`, ``, ` `, `{"`, `{"\`, `{"a": {"b": {"c": {"d": 1}}}}`,
		`{{{{{{{{{{{{{{{{{{{{{{}`, `}`, `{"a": 1}: {"b": 2}`, `{"a", : `, `["\\u005b", "\\\"", "\\\\[", "\u001f{"]`, `"\\u005cu005b"`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stored, err := document.Append(nil, []byte(text))
		if err != nil {
			return
		}
		back := string(document.AppendText(nil, stored))
		if back != text {
			t.Errorf("%q is stored as %q, and comes back as %q", text, stored, back)
		}
		inTurn := stored
		for stored, written := range document.Escapes {
			inTurn = []byte(strings.ReplaceAll(string(inTurn), stored, written))
		}
		if json.Valid([]byte(text)) && !strings.Contains(text, ":") && string(inTurn) != text {
			t.Errorf("%q is stored as %q, which replacing one escape after the other makes %q", text, stored, inTurn)
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
