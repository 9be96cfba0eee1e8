package server_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// A document is written by chance, of few keys, so that each is at several depths, and of what is around strings in a document's text.
type chance struct{ *rand.Rand }

func (c chance) one(of ...string) string { return of[c.IntN(len(of))] }

func (c chance) text(most int) string {
	text := ""
	for range c.IntN(most + 1) {
		text += c.one("a", "b", "é", "x", `"`, `\`, "[", "]", "{", "}", ":", ":", " ", " ", ",", ", ", "\n", "\x01", "/", "u005b", `\u003a`, `"a": `, `"b" :`, "null", "1")
	}
	return text
}

func (c chance) key() string {
	if c.IntN(2) == 0 {
		return c.one("a", "b", "c")
	}
	return c.text(3)
}

func (c chance) value(depth int) any {
	kind := c.IntN(7)
	if depth == 0 {
		kind = c.IntN(4)
	}
	switch kind {
	case 0, 1:
		return c.text(5)
	case 2:
		return json.Number(c.one("0", "-7", "1.50", "-0.001", "9223372036854775807", "123456789012345678901234567890.5", "1e30", "2.0"))
	case 3:
		return []any{nil, true, false}[c.IntN(3)]
	case 4:
		list := []any{}
		for range c.IntN(4) {
			list = append(list, c.value(depth-1))
		}
		return list
	}
	object := map[string]any{}
	for range c.IntN(5) {
		object[c.key()] = c.value(depth - 1)
	}
	return object
}

// What leads to a value in a document is the same one that PostgreSQL finds, whatever is around it.
func TestGateway_findsKeysOfAnyDocument(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	c := chance{rand.New(rand.NewPCG(seed, 0))}
	columnar, oltp := start(t, "CREATE TABLE doc (id int PRIMARY KEY, j jsonb); CREATE TABLE named (j jsonb PRIMARY KEY, id int)").routes()
	for id := range 2000 {
		text, err := json.Marshal(c.value(5))
		if err != nil {
			t.Fatal(err)
		}
		for _, sql := range []string{"INSERT INTO doc VALUES ($1, $2)", "INSERT INTO named VALUES ($2, $1) ON CONFLICT DO NOTHING"} {
			if _, err := oltp.Exec(t.Context(), sql, id, string(text)); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	exec(t, oltp, "INSERT INTO doc VALUES (-1, (repeat('{\"a\":', 100) || '1' || repeat('}', 100))::jsonb)")
	exec(t, columnar, "SET freshet.freshness = strong")
	wantAlikeIn(t, columnar, oltp, 1, []string{"SELECT id, j FROM doc ORDER BY id", "SELECT id, j FROM named ORDER BY id", "SELECT id, j->'a'->>'b', jsonb_typeof(j) FROM named ORDER BY id"})
	exec(t, oltp, "UPDATE doc SET j = jsonb_build_object('a', j) WHERE id % 3 = 0; DELETE FROM named WHERE id % 2 = 0")
	searched := []string{"j@ IS NULL", "jsonb_typeof(j@)", "j@", "(j@)::text", "x@->'a'->>'b'", "x@", "jsonb_typeof(x@->'b')"}
	parsed := []string{"j@ ? 'a'", "j@ ?| '{b,x}'", "x@ ? 'b'"} // where they meet an array
	var statements, others []string
	for range 60 {
		var keys []string
		for len(keys) < 1+c.IntN(5) {
			if key := c.key(); !strings.ContainsAny(key, "\"\\\n\x01") {
				keys = append(keys, "'"+key+"'")
			}
		}
		last := len(keys) - 1
		to := strings.Join(append([]string{""}, keys[:last]...), "->")
		asked := func(form string) string {
			return "SELECT id, " + strings.ReplaceAll(form, "@", to) + " AS v FROM (SELECT id, j, j->'a' AS x FROM doc) y ORDER BY id"
		}
		statements = append(statements, "SELECT id, j"+to+"->>"+keys[last]+" AS v FROM doc ORDER BY id", asked(c.one(searched...)))
		others = append(others, asked(c.one(parsed...)))
	}
	for _, depth := range []int{1, 7, 31} {
		statements = append(statements, "SELECT id, j"+strings.Repeat("->'a'", depth)+"->>'a' FROM doc WHERE id < 0", "SELECT id, j"+strings.Repeat("->'a'", depth)+"->>'"+strconv.Itoa(depth)+"' FROM doc ORDER BY id")
	}
	wantAlikeIn(t, columnar, oltp, 1, statements)
	others = append(others, "SELECT id, j"+strings.Repeat("->'a'", 32)+"->>'a' FROM doc ORDER BY id", "SELECT id, jsonb_array_length(j"+strings.Repeat("->'a'", 40)+") FROM doc WHERE id < 0", "SELECT id, j"+strings.Repeat("->'a'", 40)+"->0->>'a' FROM doc ORDER BY id")
	wantAlikeIn(t, columnar, oltp, 0, others)
}
