package arraytext_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/connectors/arraytext"
)

func TestArray_isReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := arraytext.Array{}
		count := 1
		for range rapid.IntRange(0, 4).Draw(t, "dimensions") {
			d := arraytext.Dim{Length: rapid.IntRange(1, 3).Draw(t, "length"), Lower: 1}
			if rapid.Bool().Draw(t, "bounded") {
				d.Lower = rapid.IntRange(-3, 3).Draw(t, "lower")
			}
			a.Dims = append(a.Dims, d)
			count *= d.Length
		}
		if len(a.Dims) > 0 {
			element := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "NULL", "null", `"`, `\`, "{", "}", ",", " ", "a b", "\t", "\v", "[1:2]={x}"}))
			for range count {
				var e []byte
				if rapid.IntRange(0, 4).Draw(t, "null") > 0 {
					e = append([]byte{}, element.Draw(t, "element")...)
				}
				a.Elements = append(a.Elements, e)
			}
		}
		text := a.AppendText([]byte("before"))[len("before"):]
		if got, err := arraytext.Read(text); err != nil || !equal(got, a) {
			t.Fatalf("text %q of %v is read as %v, %v", text, a, got, err)
		}
		binary := a.AppendBinary(nil, 25)
		if got, err := arraytext.FromBinary(binary); err != nil || !equal(got, a) {
			t.Fatalf("binary %q of %v is read as %v, %v", binary, a, got, err)
		}
		if cut := binary[:rapid.IntRange(0, len(binary)-1).Draw(t, "cut")]; len(cut) > 0 {
			if got, err := arraytext.FromBinary(cut); err == nil {
				t.Fatalf("%q is read as %v", cut, got)
			}
		}
	})
}

// equal takes no elements for none.
func equal(a, b arraytext.Array) bool {
	return len(a.Elements) == len(b.Elements) && len(a.Dims) == len(b.Dims) && (len(a.Dims) == 0 || cmp.Equal(a, b))
}

func TestRead_refusesWhatIsNoOutput(t *testing.T) {
	for _, text := range []string{"", "{", "}", "{a", "a}", "{a}b", "{,}", "{a,}", "{a}}", "{{a},b}", "{{a},{b,c}}", "{a,{b}}", `{"a}`, `{a"}`, `{"a\`, "[1:2]={a}", "[1:1]", "[1:1]={}", "[2:1]={a}", "[x:1]={a}", "[1:1][1:1]={a}", "{{}}"} {
		if a, err := arraytext.Read([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, a)
		}
	}
}

func TestFromBinary_refusesLengthsThatItDoesNotHave(t *testing.T) {
	for _, dims := range [][]arraytext.Dim{{{1 << 30, 1}}, {{0, 1}}, {{-1, 1}}, {{1 << 16, 1}, {1 << 16, 1}, {1 << 16, 1}, {1 << 16, 1}}, make([]arraytext.Dim, 7)} {
		if a, err := arraytext.FromBinary(arraytext.Array{Dims: dims}.AppendBinary(nil, 23)); err == nil {
			t.Errorf("an array of dimensions %v is read as %v", dims, a)
		}
	}
}

func TestTypes_areThoseOfWhichTheElementsAreKnown(t *testing.T) {
	for _, oid := range arraytext.Types() {
		if _, ok := arraytext.Element(oid); !ok {
			t.Errorf("type %d has no elements", oid)
		}
	}
	for oid, alike := range map[uint32]bool{1009: true, 1007: true, 2951: true, 1231: false, 1014: false, 25: false, 0: false} {
		if got := arraytext.Alike(oid); got != alike {
			t.Errorf("equality of type %d is that of texts: %v", oid, got)
		}
	}
}
