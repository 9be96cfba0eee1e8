package analytics

import (
	"context"
	"testing"
	"time"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// A transaction that keeps its snapshot sees the catalog as it was when it began.
func TestNoticeHidden_believesNoOldSnapshotForOtherSessions(t *testing.T) {
	r := &Router{clock: time.Now}
	answering := func(isolation, writes string) *pgwire.SessionInfo {
		return &pgwire.SessionInfo{ReadSince: true, Isolation: isolation, Ask: func(context.Context, string) ([][][]byte, error) {
			return [][][]byte{{[]byte("t"), []byte(writes)}}, nil
		}}
	}
	for _, step := range []struct {
		name, isolation, writes string
		wrote                   bool
	}{
		{"an old snapshot", "repeatable read", "f", false},
		{"the present catalog", readCommitted, "t", true},
		{"what was told just now", readCommitted, "f", true},
	} {
		s := answering(step.isolation, step.writes)
		if err := r.noticeHidden(t.Context(), s); err != nil || s.WroteSince != step.wrote {
			t.Errorf("%s: wrote %t, %v, want %t", step.name, s.WroteSince, err, step.wrote)
		}
	}
}

func TestNoticeHidden_asksAgainAfterADefinition(t *testing.T) {
	now := time.Unix(1000, 0)
	r := &Router{clock: func() time.Time { return now }}
	wrote := func(writes string) bool {
		t.Helper()
		s := &pgwire.SessionInfo{ReadSince: true, Isolation: readCommitted, Ask: func(context.Context, string) ([][][]byte, error) {
			return [][][]byte{{[]byte(writes), []byte(writes)}}, nil
		}}
		if err := r.noticeHidden(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		return s.WroteSince
	}
	if wrote("f") || wrote("t") || r.HiddenEffects() {
		t.Error("what was told just now does not hold")
	}
	r.Defined()
	if !r.HiddenEffects() || !wrote("t") {
		t.Error("what was told before a definition still holds")
	}
	// A session defines something while another one's question is under way.
	s := &pgwire.SessionInfo{ReadSince: true, Isolation: readCommitted, Ask: func(context.Context, string) ([][][]byte, error) {
		r.Defined()
		return [][][]byte{{[]byte("f"), []byte("f")}}, nil
	}}
	r.Defined()
	if err := r.noticeHidden(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if !wrote("t") {
		t.Error("what was asked before a definition holds after it")
	}
}
