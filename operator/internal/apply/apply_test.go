package apply

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestContains_ignoresOnlyWhatTheServerAdds(t *testing.T) {
	for _, c := range []struct {
		name, have, want string
		same             bool
	}{
		{"equal", `{"a": 1}`, `{"a": 1}`, true},
		{"defaulted field", `{"a": 1, "b": 2}`, `{"a": 1}`, true},
		{"other value", `{"a": 2}`, `{"a": 1}`, false},
		{"missing field", `{}`, `{"a": 1}`, false},
		{"defaulted field of an item", `{"a": [{"b": 1, "c": 2}]}`, `{"a": [{"b": 1}]}`, true},
		{"added item", `{"a": [1, 2]}`, `{"a": [1]}`, false},
		{"other order", `{"a": [2, 1]}`, `{"a": [1, 2]}`, false},
		{"empty object that is not stored", `{}`, `{"a": {}}`, true},
		{"empty list that is not stored", `{}`, `{"a": []}`, false},
	} {
		var have, want any
		if err := errors.Join(json.Unmarshal([]byte(c.have), &have), json.Unmarshal([]byte(c.want), &want)); err != nil {
			t.Fatal(err)
		}
		if got := contains(have, want); got != c.same {
			t.Errorf("%s: %s contains %s is %v", c.name, c.have, c.want, got)
		}
	}
}
