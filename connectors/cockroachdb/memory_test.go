package cockroachdb

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cockroachdb/changefeedtest"
)

// memory is Kafka in memory. A reader gets from it, in each poll, some messages of some partitions.
type memory struct {
	topics map[string]*memoryTopic
	// more is called before each poll of a reader; random is the reader's choice.
	more   func()
	random func(n int) int
}

type memoryTopic struct {
	id    [16]byte
	parts []*memoryPartition
}

type memoryPartition struct {
	start   int64 // of the first record that has not expired
	records []*kgo.Record
}

func newMemory(random func(int) int) *memory {
	return &memory{topics: map[string]*memoryTopic{}, random: random, more: func() {}}
}

// send is what a feed sends to.
func (m *memory) send(x changefeedtest.Message) {
	t := m.topics[x.Topic]
	if t == nil {
		t = &memoryTopic{id: [16]byte{byte(len(m.topics) + 1)}}
		m.topics[x.Topic] = t
	}
	for len(t.parts) <= int(x.Partition) {
		t.parts = append(t.parts, &memoryPartition{})
	}
	p := t.parts[x.Partition]
	p.records = append(p.records, &kgo.Record{Topic: x.Topic, Partition: x.Partition, Offset: int64(len(p.records)), Key: x.Key, Value: x.Value, Timestamp: x.Sent})
}

// memoryReader is one reader's view of it.
type memoryReader struct {
	m    *memory
	next map[string]map[int32]int64
	held map[string][]int32
}

func (m *memory) open() (broker, error) {
	return &memoryReader{m: m, next: map[string]map[int32]int64{}}, nil
}

func (r *memoryReader) describe(_ context.Context, topics []string) (map[string]topicInfo, error) {
	out := map[string]topicInfo{}
	for _, name := range topics {
		if t := r.m.topics[name]; t != nil {
			out[name] = topicInfo{id: t.id, partitions: len(t.parts)}
		}
	}
	return out, nil
}

func (r *memoryReader) locate(_ context.Context, topic string, since time.Time) (map[int32]extent, error) {
	out := map[int32]extent{}
	for i, p := range r.m.topics[topic].parts {
		e := extent{start: p.start, end: int64(len(p.records))}
		e.since = e.end
		for o := e.start; o < e.end; o++ {
			if !p.records[o].Timestamp.Before(since) {
				e.since = o
				break
			}
		}
		out[int32(i)] = e
	}
	return out, nil
}

func (r *memoryReader) read(starts map[string]map[int32]int64) {
	for topic, parts := range starts {
		if r.next[topic] == nil {
			r.next[topic] = map[int32]int64{}
		}
		for p, o := range parts {
			r.next[topic][p] = o
		}
	}
}

func (r *memoryReader) forget(topics ...string) {
	for _, t := range topics {
		delete(r.next, t)
	}
}

func (r *memoryReader) hold(parts map[string][]int32) { r.held = parts }

func (r *memoryReader) poll(ctx context.Context, take func(*kgo.Record) error) error {
	r.m.more()
	for topic, parts := range r.next {
		for p, o := range parts {
			part := r.m.topics[topic].parts[p]
			if o < part.start {
				return cdc.HistoryLost("messages of topic %s, partition %d have expired before they were read", topic, p)
			}
			if contains(r.held[topic], p) || r.m.random(4) == 0 {
				continue
			}
			for n := r.m.random(60); n > 0 && o < int64(len(part.records)); n-- {
				if err := take(part.records[o]); err != nil {
					return err
				}
				o++
			}
			parts[p] = o
		}
	}
	return nil
}

func (r *memoryReader) close() {}

func contains(ps []int32, p int32) bool {
	for _, x := range ps {
		if x == p {
			return true
		}
	}
	return false
}

// fakeDatabase is a database whose answers a test sets.
type fakeDatabase struct {
	tables []cdc.Discovered
	feed   Changefeed
	now    cdc.Position
	copied func(ctx context.Context, tables []*cdc.Table, sink cdc.CopySink) (cdc.Position, error)
}

func (d *fakeDatabase) Tables(context.Context) ([]cdc.Discovered, error) { return d.tables, nil }

func (d *fakeDatabase) Copy(ctx context.Context, tables []*cdc.Table, sink cdc.CopySink) (cdc.Position, error) {
	return d.copied(ctx, tables, sink)
}

func (d *fakeDatabase) Now(context.Context) (cdc.Position, error) { return d.now, nil }

func (d *fakeDatabase) Changefeed(context.Context) (Changefeed, error) { return d.feed, nil }

func (d *fakeDatabase) Versions(context.Context, []cdc.TableID, cdc.Position) (map[cdc.TableID]string, error) {
	return map[cdc.TableID]string{}, nil
}

func (d *fakeDatabase) ClusterID(context.Context) (string, error) { return "fake", nil }

func (d *fakeDatabase) Close() {}

func (d *fakeDatabase) Topic(t *cdc.Table) string { return "shop." + t.Schema + "." + t.Name }
