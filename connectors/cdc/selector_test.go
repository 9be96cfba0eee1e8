package cdc_test

import (
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestSelector_matchesPatterns(t *testing.T) {
	s, err := cdc.NewSelector([]string{"public.*", "app?.order_*"}, []string{"public.tmp*"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[[2]string]bool{
		{"public", "a"}: true, {"public", "tmp_1"}: false, {"app1", "order_line"}: true, {"app12", "order_line"}: false,
		{"app1", "orders"}: false, {"publicx", "a"}: false,
	} {
		if got := s.Selects(name[0], name[1]); got != want {
			t.Errorf("%v: selected %v, want %v", name, got, want)
		}
	}
	if _, err := cdc.NewSelector([]string{"public"}, nil); err == nil {
		t.Error("a pattern without a schema was accepted")
	}
}
