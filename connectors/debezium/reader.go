package debezium

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/kafka"
)

// reader reads the connector's topics into an assembler. It belongs to the goroutine that streams.
type reader struct {
	s         *Source
	client    *kgo.Client
	assembler *assembler
	envelopes envelopeDecoder
	// begin is the offset of the transaction topic behind which ENDs count; those before tell what is of no use.
	begin      int64
	topics     map[string]*topic
	partitions int // assigned so far, for their indexes
	in         arrival
	settling   *settling // nil: nothing waits for it
}

// topic is one that is read.
type topic struct {
	id    kadm.TopicID
	parts []*partition
}

type partition struct {
	index int
	next  int64     // offset of the next record
	end   int64     // offset after the last record that was there at the last fetch
	sent  time.Time // when the last record was sent
}

const (
	// fetchBytes bounds what one fetch brings, compressed: rows are ten times as large unpacked.
	fetchBytes = 2 << 20
	// farAhead is how many ENDs are read ahead of their rows.
	farAhead = 20_000
)

// openReader begins to read so that every transaction after from is read whole.
func (s *Source) openReader(ctx context.Context, from cdc.Position) (*reader, error) {
	var since time.Time
	begin := int64(-1)
	if !from.IsZero() {
		m, err := s.findStart(ctx, from)
		if err != nil {
			return nil, err
		}
		since, begin = m.since(), m.offset
	}
	client, err := s.newClient(kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.KeepControlRecords(),
		kgo.FetchMaxBytes(fetchBytes), kgo.FetchMaxPartitionBytes(fetchBytes/4), kgo.FetchMinBytes(1), kgo.FetchMaxWait(time.Second),
		kgo.BrokerMaxReadBytes(max(100<<20, int32(s.cfg.Connector.withDefaults().MessageBytes)+2*fetchBytes)))
	if err != nil {
		return nil, fmt.Errorf("read topics: %w", err)
	}
	rd := &reader{s: s, client: client, begin: begin, topics: map[string]*topic{}, assembler: newAssembler(from, s.spoolDir(), s.cfg.MemoryBytes)}
	if err := rd.subscribe(ctx, since); err != nil {
		rd.close()
		return nil, err
	}
	if rd.topics[s.cfg.boundsTopic()] == nil && !from.IsZero() {
		rd.close()
		return nil, cdc.HistoryLost("topic %s does not exist any more", s.cfg.boundsTopic())
	}
	return rd, nil
}

func (s *Source) findStart(ctx context.Context, from cdc.Position) (mark, error) {
	h, err := s.openHistory(ctx)
	if err != nil {
		return mark{}, err
	}
	defer h.close()
	return h.find(ctx, from)
}

func (rd *reader) close() {
	rd.client.Close()
	rd.assembler.close()
}

// subscribe adds topics and partitions that are not read yet: from a time on, or from the beginning for
// the zero time, as for those that appeared while others were being read.
func (rd *reader) subscribe(ctx context.Context, since time.Time) error {
	own, err := rd.s.topics(ctx)
	if err != nil {
		return err
	}
	if err := rd.check(ctx, own); err != nil {
		return err
	}
	add := map[string]map[int32]kgo.Offset{}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		detail := own[name]
		if errors.Is(detail.Err, kerr.UnknownTopicOrPartition) {
			continue
		}
		if detail.Err != nil {
			return fmt.Errorf("read topic %s: %w", name, detail.Err)
		}
		t := rd.topics[name]
		if t == nil {
			t = &topic{id: detail.ID}
			rd.topics[name] = t
		}
		for p := len(t.parts); p < len(detail.Partitions); p++ {
			t.parts = append(t.parts, &partition{index: rd.partitions})
			rd.partitions++
			if add[name] == nil {
				add[name] = map[int32]kgo.Offset{}
			}
			add[name][int32(p)] = kgo.NewOffset().AtStart()
		}
	}
	if len(add) == 0 {
		return nil
	}
	if !since.IsZero() {
		if err := rd.seek(ctx, add, since); err != nil {
			return err
		}
	}
	for name, parts := range add {
		for p, offset := range parts {
			rd.topics[name].parts[p].next = max(0, offset.EpochOffset().Offset)
		}
	}
	rd.client.AddConsumePartitions(add)
	return nil
}

// seek sets the offsets of partitions to the first record sent at a time or after it.
//
// Where there is no such record yet, the client answers with the end of the partition, asked for after that was found out:
// records that came in between would be passed over. Therefore ends are asked for before, too.
func (rd *reader) seek(ctx context.Context, add map[string]map[int32]kgo.Offset, since time.Time) error {
	names := slices.Collect(maps.Keys(add))
	ends, err := rd.s.admin.ListEndOffsets(ctx, names...)
	if err != nil {
		return fmt.Errorf("find offsets by time: %w", err)
	}
	listed, err := rd.s.admin.ListOffsetsAfterMilli(ctx, since.UnixMilli(), names...)
	if err != nil {
		return fmt.Errorf("find offsets by time: %w", err)
	}
	for name, parts := range add {
		for p := range parts {
			found, ok := listed.Lookup(name, p)
			end, okEnd := ends.Lookup(name, p)
			if err := errors.Join(found.Err, end.Err); err != nil || !ok || !okEnd {
				return fmt.Errorf("find offset of topic %s, partition %d, by time: %w", name, p, err)
			}
			offset := min(found.Offset, end.Offset)
			if name == rd.s.cfg.boundsTopic() {
				offset = min(offset, rd.begin)
			}
			parts[p] = kgo.NewOffset().At(offset)
		}
	}
	return nil
}

// check makes sure that the topics that are read are still the same ones.
func (rd *reader) check(ctx context.Context, own kadm.TopicDetails) error {
	for name, t := range rd.topics {
		now, there := own[name]
		if !there || errors.Is(now.Err, kerr.UnknownTopicOrPartition) {
			gone, err := rd.s.gone(ctx, name)
			if gone {
				err = cdc.HistoryLost("topic %s does not exist any more", name)
			}
			if err != nil {
				return err
			}
			continue
		}
		if now.ID != t.id {
			return cdc.HistoryLost("topic %s was deleted and created anew", name)
		}
	}
	return nil
}

// poll takes what has come, or waits for something until ctx ends, which is no error.
func (rd *reader) poll(ctx context.Context) error {
	fetches := rd.client.PollFetches(ctx)
	var failed error
	fetches.EachError(func(name string, p int32, err error) {
		if failed == nil {
			failed = kafka.ReadError(name, p, err)
		}
	})
	if failed != nil {
		return failed
	}
	var err error
	fetches.EachPartition(func(part kgo.FetchTopicPartition) {
		t := rd.topics[part.Topic]
		if t == nil {
			return // the end of the wait, which comes as a fetch of nothing
		}
		t.parts[part.Partition].end = part.HighWatermark
		for _, r := range part.Records {
			if err == nil {
				err = rd.take(t.parts[part.Partition], r)
			}
		}
	})
	if err != nil {
		return err
	}
	rd.measure()
	return nil
}

// measure counts the records that are there and were not read.
func (rd *reader) measure() {
	var lag int64
	for _, t := range rd.topics {
		for _, p := range t.parts {
			lag += max(0, p.end-p.next)
		}
	}
	rd.s.lag.Store(lag)
	rd.s.metrics.lag.Set(float64(lag))
}

// take puts a record into the assembler.
func (rd *reader) take(p *partition, r *kgo.Record) error {
	p.next, p.sent = r.Offset+1, r.Timestamp
	rd.s.metrics.bytes.Add(float64(len(r.Value)))
	switch {
	case r.Attrs.IsControl(), len(r.Value) == 0: // a tombstone, which is not counted
		return nil
	case r.Topic == rd.s.cfg.boundsTopic():
		ev, ended, err := rd.envelopes.boundary(r.Value)
		if err != nil {
			return fmt.Errorf("topic %s, offset %d: %w", r.Topic, r.Offset, err)
		}
		ev.sent = r.Timestamp
		switch {
		case !ended:
			rd.assembler.begin(ev)
		case r.Offset <= rd.begin:
			rd.assembler.early(ev)
		case !rd.assembler.end(ev):
			rd.s.metrics.repeated.Inc()
		}
		return nil
	}
	ev, err := rd.envelopes.row(r.Value)
	if err != nil {
		return fmt.Errorf("topic %s, partition %d, offset %d: %w", r.Topic, r.Partition, r.Offset, err)
	}
	rd.in = arrival{sent: r.Timestamp, partition: p.index, keyless: len(r.Key) == 0, rowEvent: ev}
	for _, h := range r.Headers {
		switch h.Key {
		case "__debezium.oldkey":
			rd.in.oldKey = h.Value
		case "__debezium.newkey":
			rd.in.keyChanges = true
		}
	}
	return rd.assembler.row(&rd.in)
}

// balance holds back what was read far ahead of the rest, which only takes memory: ENDs of which the rows are to come, and, while much is in
// memory, rows of all topics but those that the next transaction lacks rows of.
func (rd *reader) balance() {
	ahead := rd.assembler.ahead(rd.s.cfg.MemoryBytes, rd.s.cfg.tableTopic)
	bounds := rd.s.cfg.boundsTopic()
	for name := range rd.topics {
		hold := ahead(name)
		if name == bounds {
			hold = len(rd.assembler.ends) > farAhead
		}
		if hold && rd.settling == nil {
			rd.client.PauseFetchTopics(name)
		} else {
			rd.client.ResumeFetchTopics(name)
		}
	}
}

// stalled looks after a transaction whose rows do not come: topics and partitions may be new. It returns
// a terminal error for rows that have expired or were lost: all that could hold them was read, and Connect has since then
// gone on for longer than it tries to deliver anything.
func (rd *reader) stalled(ctx context.Context, head endEvent, missing map[string]uint64) error {
	if err := rd.subscribe(ctx, time.Time{}); err != nil {
		return err
	}
	bounds := rd.topics[rd.s.cfg.boundsTopic()]
	deadline := head.sent.Add(rd.s.cfg.StallLimit)
	if bounds == nil || !bounds.parts[0].sent.After(deadline) {
		return nil
	}
	for table, n := range missing {
		name := rd.s.cfg.tableTopic(table)
		t := rd.topics[name]
		if t == nil {
			return cdc.HistoryLost("transaction %s has %d rows of table %s in topic %s, which does not exist", head, n, table, name)
		}
		ends, err := rd.s.admin.ListEndOffsets(ctx, name)
		if err != nil {
			return fmt.Errorf("read topic %s: %w", name, err)
		}
		for i, p := range t.parts {
			end, ok := ends.Lookup(name, int32(i))
			if !ok || end.Err != nil || p.next < end.Offset && !p.sent.After(deadline) {
				return nil // there is more to read
			}
		}
		return cdc.HistoryLost("transaction %s lacks %d rows of table %s in topic %s that its END counts: their messages have expired or were lost", head, n, table, name)
	}
	return nil
}
