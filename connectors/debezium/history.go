package debezium

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/kafka"
)

const (
	// margin is how much earlier than an END the topics are read, by the clock of their messages: the
	// rows of a transaction are sent before its END, by a clock that may have been set back.
	margin = 10 * time.Second
	// mostLate is how much later than its transaction was committed an END may have been sent for reading to begin before that time:
	// Connect may have resumed since, and sent it once more.
	mostLate = 2 * time.Minute
)

// since is the time from which on topics are read so that every transaction after that of an END is read whole: of one that was being sent when
// Connect ended, a part was sent before the END came once more.
func (m mark) since() time.Time {
	late := min(max(0, m.at.Sub(time.UnixMilli(m.millis))), mostLate)
	return m.at.Add(-late - margin)
}

// history reads the transaction topic here and there.
type history struct {
	s          *Source
	client     *kgo.Client
	start, end int64
	decoder    envelopeDecoder
}

// mark is an END in the transaction topic.
type mark struct {
	offset   int64
	position cdc.Position
	at       time.Time // of the message
	millis   int64     // commit time, ms since 1970
}

func (s *Source) openHistory(ctx context.Context) (*history, error) {
	// Where Connect delivers exactly once, the last record may be the broker's own, and nothing may come after it.
	client, err := s.newClient(kgo.FetchMaxBytes(1<<20), kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.KeepControlRecords())
	if err != nil {
		return nil, fmt.Errorf("read the transaction topic: %w", err)
	}
	h := &history{s: s, client: client}
	if err := h.bounds(ctx); err != nil {
		client.Close()
		return nil, err
	}
	return h, nil
}

func (h *history) close() { h.client.Close() }

// bounds asks for the first and the next offset; both are 0 for a topic that does not exist.
func (h *history) bounds(ctx context.Context) error {
	h.start, h.end = 0, 0
	topic := h.s.cfg.boundsTopic()
	if gone, err := h.s.gone(ctx, topic); err != nil || gone {
		return err
	}
	starts, err := h.s.admin.ListStartOffsets(ctx, topic)
	ends, endErr := h.s.admin.ListEndOffsets(ctx, topic)
	start, okStart := starts.Lookup(topic, 0)
	end, okEnd := ends.Lookup(topic, 0)
	if err := errors.Join(err, endErr, start.Err, end.Err); err != nil || !okStart || !okEnd {
		// It may have been deleted a moment ago.
		if gone, goneErr := h.s.gone(ctx, topic); goneErr == nil && gone {
			return nil
		}
		return fmt.Errorf("read topic %s: %w", topic, err)
	}
	if n := len(starts[topic]); n > 1 {
		return &cdc.TerminalError{Code: cdc.CodeConfiguration, Detail: fmt.Sprintf("topic %s has %d partitions, so that ends of transactions have no order", topic, n),
			Remedy: "remove the connector and the topic, create the topic with one partition, and " + cdc.RemedyRecopy}
	}
	h.start, h.end = start.Offset, end.Offset
	return nil
}

// next finds the first END at or after an offset and before limit; ok is false if there is none.
func (h *history) next(ctx context.Context, offset, limit int64) (m mark, ok bool, err error) {
	err = h.each(ctx, offset, limit, func(end mark) bool {
		m, ok = end, true
		return false
	})
	return m, ok, err
}

// each visits the ENDs at or after an offset and before limit, in order, until visit returns false.
func (h *history) each(ctx context.Context, offset, limit int64, visit func(mark) bool) error {
	topic := h.s.cfg.boundsTopic()
	if offset >= limit {
		return nil
	}
	h.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(offset)}})
	defer h.client.RemoveConsumePartitions(map[string][]int32{topic: {0}})
	for {
		fetches := h.client.PollFetches(ctx)
		if ctx.Err() != nil {
			return fmt.Errorf("read topic %s: %w", topic, context.Cause(ctx))
		}
		for _, e := range fetches.Errors() {
			if err := kafka.ReadError(e.Topic, e.Partition, e.Err); err != nil {
				return err
			}
		}
		for _, r := range fetches.Records() {
			if r.Offset >= limit {
				return nil
			}
			m, ended, err := h.mark(r)
			if err != nil || ended && !visit(m) || r.Offset == limit-1 {
				return err
			}
		}
	}
}

// mark returns the END that a record is; ok is false if it is none.
func (h *history) mark(r *kgo.Record) (m mark, ok bool, err error) {
	if r.Attrs.IsControl() {
		return mark{}, false, nil
	}
	ev, ended, err := h.decoder.boundary(r.Value)
	if err != nil {
		return mark{}, false, fmt.Errorf("topic %s, offset %d: %w", r.Topic, r.Offset, err)
	}
	return mark{offset: r.Offset, position: ev.position, at: r.Timestamp, millis: ev.millis}, ended, nil
}

// find returns an END at or before a position after which every transaction beyond that position is delivered.
// Positions rise with offsets except where Connect began again from an earlier one, from where on all is delivered once
// more: any place where they pass the position will do.
func (h *history) find(ctx context.Context, from cdc.Position) (mark, error) {
	first, ok, err := h.next(ctx, h.start, h.end)
	if err != nil {
		return mark{}, err
	}
	topic := h.s.cfg.boundsTopic()
	switch {
	case !ok:
		return mark{}, cdc.HistoryLost("topic %s has no transactions, the replica is at %s: it was created anew, or everything in it has expired", topic, from)
	case from.Before(first.position):
		return mark{}, cdc.HistoryLost("topic %s begins at %s, after the replica's position %s", topic, first.position, from)
	}
	low, high := first, h.end // low is at or before from; the END before high may be too
	for low.offset+1 < high {
		middle := low.offset + (high-low.offset)/2
		m, ok, err := h.next(ctx, middle, high)
		if err != nil {
			return mark{}, err
		}
		if !ok || from.Before(m.position) {
			high = middle
			continue
		}
		low = m
	}
	return low, nil
}

// awaitHistory waits until the transaction topic has an END, with a mark in the log that makes one.
func (s *Source) awaitHistory(ctx context.Context) error {
	h, err := s.openHistory(ctx)
	if err != nil {
		return err
	}
	defer h.close()
	if _, ok, err := h.next(ctx, h.start, h.end); err != nil || ok {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.StartWait, fmt.Errorf("nothing came within %s; is the connector running? see its status in Kafka Connect", s.cfg.StartWait))
	defer cancel()
	k := keeper{s: s}
	for {
		if _, err := s.catalog.Mark(ctx); err != nil {
			return err
		}
		if err := k.look(ctx, s.cfg.Postgres.Now()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the first transaction in topic %s: %w", s.cfg.boundsTopic(), context.Cause(ctx))
		case <-time.After(500 * time.Millisecond):
		}
		if err := h.bounds(ctx); err != nil {
			return err
		}
		if _, ok, err := h.next(ctx, h.start, h.end); err != nil || ok {
			return err
		}
	}
}

// gone reports whether a topic does not exist. A broker that has just started may not know yet what there is: it is asked again.
func (s *Source) gone(ctx context.Context, topic string) (bool, error) {
	for range 3 {
		own, err := s.topics(ctx)
		if err != nil {
			return false, err
		}
		if t, there := own[topic]; there && !errors.Is(t.Err, kerr.UnknownTopicOrPartition) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
	return true, nil
}

// topics lists the topics of the connector.
func (s *Source) topics(ctx context.Context) (kadm.TopicDetails, error) {
	all, err := s.admin.ListTopics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list topics: %w", err)
	}
	own := kadm.TopicDetails{}
	for name, t := range all {
		rest, ok := strings.CutPrefix(name, s.cfg.Prefix+".")
		// Topics without a schema in their names, as that of logical messages, hold no rows.
		if ok && (name == s.cfg.boundsTopic() || strings.Contains(rest, ".")) {
			own[name] = t
		}
	}
	return own, nil
}
