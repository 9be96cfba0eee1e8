package cockroachdb

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// broker is Kafka as far as a reader needs it.
type broker interface {
	// describe tells of those of the topics that exist.
	describe(ctx context.Context, topics []string) (map[string]topicInfo, error)
	// locate tells what each partition of a topic holds.
	locate(ctx context.Context, topic string, since time.Time) (map[int32]extent, error)
	// read begins to read partitions at offsets.
	read(starts map[string]map[int32]int64)
	// forget ends reading topics.
	forget(topics ...string)
	// hold has exactly these partitions not fetched for now.
	hold(parts map[string][]int32)
	// poll hands over what has come, or waits for something until ctx ends, which is no error. Lost messages are a terminal error.
	poll(ctx context.Context, take func(*kgo.Record) error) error
	close()
}

// topicInfo is a topic's identity and size.
type topicInfo struct {
	id         [16]byte
	partitions int
}

// extent is what a partition holds.
type extent struct {
	start, end int64 // the first offset that is there, and the next to be written
	since      int64 // the offset of the first message sent at a time or after it; end if there is none
}
