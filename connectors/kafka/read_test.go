package kafka

import (
	"context"
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
)

func TestReadError_tellsLossFromWhatPasses(t *testing.T) {
	const nothing, other = cdc.Code(""), cdc.Code("other")
	for _, c := range []struct {
		err  error
		want cdc.Code
	}{
		{context.Canceled, nothing}, {context.DeadlineExceeded, nothing}, {kerr.NotLeaderForPartition, nothing}, {kerr.BrokerNotAvailable, nothing},
		{&kgo.ErrDataLoss{}, cdc.CodeHistoryLost}, {kerr.OffsetOutOfRange, cdc.CodeHistoryLost},
		{kerr.UnknownTopicOrPartition, cdc.CodeHistoryLost}, {kerr.UnknownTopicID, cdc.CodeHistoryLost},
		{kerr.TopicAuthorizationFailed, other},
	} {
		got := nothing
		var terminal *cdc.TerminalError
		switch err := ReadError("t", 0, c.err); {
		case errors.As(err, &terminal):
			got = terminal.Code
		case err != nil:
			got = other
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
