package cockroachdb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/kafka"
)

var errNoOffset = errors.New("the broker gave no offset")

// fetchBytes bounds what one fetch brings, compressed: rows are ten times as large unpacked.
const fetchBytes = 2 << 20

// kafkaBroker is the real broker.
type kafkaBroker struct {
	client *kgo.Client
	admin  *kadm.Client
	held   map[string][]int32
}

func openKafka(cfg kafka.Config) (*kafkaBroker, error) {
	options, err := cfg.Options()
	if err != nil {
		return nil, err
	}
	client, err := kgo.NewClient(append(options, kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(fetchBytes/4), kgo.FetchMinBytes(1), kgo.FetchMaxWait(time.Second))...)
	if err != nil {
		return nil, fmt.Errorf("read topics: %w", err)
	}
	return &kafkaBroker{client: client, admin: kadm.NewClient(client)}, nil
}

func (b *kafkaBroker) close() { b.client.Close() }

func (b *kafkaBroker) describe(ctx context.Context, topics []string) (map[string]topicInfo, error) {
	if len(topics) == 0 {
		return nil, nil
	}
	listed, err := b.admin.ListTopics(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	out := map[string]topicInfo{}
	for name, t := range listed {
		switch {
		case errors.Is(t.Err, kerr.UnknownTopicOrPartition):
		case t.Err != nil:
			return nil, fmt.Errorf("read topic %s: %w", name, t.Err)
		default:
			out[name] = topicInfo{id: t.ID, partitions: len(t.Partitions)}
		}
	}
	return out, nil
}

// locate asks for the ends first: where no message is late enough, the broker answers with the end as it is
// then, and messages that came in between would be passed over.
func (b *kafkaBroker) locate(ctx context.Context, topic string, since time.Time) (map[int32]extent, error) {
	ends, err := b.admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("find offsets of topic %s: %w", topic, err)
	}
	found, err := b.admin.ListOffsetsAfterMilli(ctx, since.UnixMilli(), topic)
	if err != nil {
		return nil, fmt.Errorf("find offsets of topic %s by time: %w", topic, err)
	}
	starts, err := b.admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("find offsets of topic %s: %w", topic, err)
	}
	out := map[int32]extent{}
	for p, end := range ends[topic] {
		start, ok := starts.Lookup(topic, p)
		after, okAfter := found.Lookup(topic, p)
		if err := errors.Join(start.Err, end.Err, after.Err); err != nil || !ok || !okAfter {
			return nil, fmt.Errorf("find offsets of topic %s, partition %d: %w", topic, p, errors.Join(err, errNoOffset))
		}
		out[p] = extent{start: start.Offset, end: end.Offset, since: min(after.Offset, end.Offset)}
	}
	return out, nil
}

func (b *kafkaBroker) read(starts map[string]map[int32]int64) {
	add := map[string]map[int32]kgo.Offset{}
	for topic, parts := range starts {
		add[topic] = map[int32]kgo.Offset{}
		for p, offset := range parts {
			add[topic][p] = kgo.NewOffset().At(offset)
		}
	}
	b.client.AddConsumePartitions(add)
}

func (b *kafkaBroker) forget(topics ...string) { b.client.PurgeTopicsFromConsuming(topics...) }

func (b *kafkaBroker) hold(parts map[string][]int32) {
	if len(b.held) > 0 {
		b.client.ResumeFetchPartitions(b.held)
	}
	if len(parts) > 0 {
		b.client.PauseFetchPartitions(parts)
	}
	b.held = parts
}

func (b *kafkaBroker) poll(ctx context.Context, take func(*kgo.Record) error) error {
	fetches := b.client.PollFetches(ctx)
	var failed error
	fetches.EachError(func(name string, p int32, err error) {
		if failed == nil {
			failed = kafka.ReadError(name, p, err)
		}
	})
	if failed != nil {
		return failed
	}
	fetches.EachPartition(func(part kgo.FetchTopicPartition) {
		for _, r := range part.Records {
			if failed == nil {
				failed = take(r)
			}
		}
	})
	return failed
}
