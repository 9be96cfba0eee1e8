package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// ReadError says what an error of a fetch means for a stream: nil for one that the client gets over by itself, a
// [cdc.TerminalError] for lost messages.
func ReadError(topic string, partition int32, err error) error {
	var loss *kgo.ErrDataLoss
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.As(err, &loss):
		return cdc.HistoryLost("the broker lost messages of topic %s, partition %d: %v", topic, partition, err)
	case errors.Is(err, kerr.OffsetOutOfRange):
		return cdc.HistoryLost("messages of topic %s, partition %d have expired before they were read", topic, partition)
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID):
		return cdc.HistoryLost("topic %s does not exist any more", topic)
	case kerr.IsRetriable(err):
		return nil
	}
	return fmt.Errorf("read topic %s, partition %d: %w", topic, partition, err)
}
