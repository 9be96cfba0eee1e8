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
