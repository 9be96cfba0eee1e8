package jsonrow

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// numericText prints PostgreSQL's binary form, as a second opinion.
func numericText(b []byte) string {
	n, weight := int(binary.BigEndian.Uint16(b)), int(int16(binary.BigEndian.Uint16(b[2:])))
	sign, places := binary.BigEndian.Uint16(b[4:]), int(binary.BigEndian.Uint16(b[6:]))
	group := func(i int) int { // of weight i
		if at := weight - i; at >= 0 && at < n {
			return int(binary.BigEndian.Uint16(b[8+2*at:]))
		}
		return 0
	}
	whole, fraction := "", ""
	for i := max(weight, 0); i >= 0; i-- {
		whole += fmt.Sprintf("%04d", group(i))
	}
	for i := -1; len(fraction) < places; i-- {
		fraction += fmt.Sprintf("%04d", group(i))
	}
	whole = string(bytes.TrimLeft([]byte(whole), "0"))
	if whole == "" {
		whole = "0"
	}
	if places > 0 {
		whole += "." + fraction[:places]
	}
	if sign == numericNegative {
		return "-" + whole
	}
	return whole
}

func TestNumeric_keepsEveryDigit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?`).Draw(t, "numeric")
		b, err := AppendNumeric(nil, []byte(text), -1)
		if err != nil {
			t.Fatal(err)
		}
		want := text
		if bytes.ContainsAny([]byte(text), "123456789") == false && text[0] == '-' {
			want = text[1:] // there is no negative zero
		}
		if got := numericText(b); got != want {
			t.Fatalf("got %s, want %s (% x)", got, want, b)
		}
		if n := int(binary.BigEndian.Uint16(b)); len(b) != 8+2*n || n > 0 && (b[8] == 0 && b[9] == 0 || b[len(b)-1] == 0 && b[len(b)-2] == 0) {
			t.Fatalf("not in PostgreSQL's shortest form: % x", b)
		}
	})
}
