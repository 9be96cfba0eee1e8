package images

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseReferences_readsWhatReferencesWrites(t *testing.T) {
	all := []Image{{Name: Freshet, Ref: "r/freshet:1", Again: "r/freshet:2"}, {Name: Tests, Ref: "r:5000/tests:3"}}
	got, err := ParseReferences(References(all))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{Freshet: "r/freshet:1", "freshet-again": "r/freshet:2", Tests: "r:5000/tests:3"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, text := range []string{"", "freshet", "freshet=r/freshet:1,"} {
		if got, err := ParseReferences(text); err == nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
