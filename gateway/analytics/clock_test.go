package analytics

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

func TestAskTime_readsPostgreSQLsAnswer(t *testing.T) {
	answer := func(values ...string) *pgwire.SessionInfo {
		row := make([][]byte, len(values))
		for i, v := range values {
			row[i] = []byte(v)
		}
		return &pgwire.SessionInfo{Ask: func(context.Context, string) ([][][]byte, error) { return [][][]byte{row}, nil }}
	}
	got, err := askTime(t.Context(), answer("1763768000123456", "20413", "1763787800123456"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&translate.Clock{Now: 1763768000123456, Today: 20413, Local: 1763787800123456}, got); d != "" {
		t.Error(d)
	}
	for _, s := range []*pgwire.SessionInfo{answer("1"), answer("1", "2", "")} {
		if got, err := askTime(t.Context(), s); err == nil {
			t.Errorf("a broken answer was read as %+v", got)
		}
	}
}
