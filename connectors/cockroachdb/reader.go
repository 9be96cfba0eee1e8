package cockroachdb

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// reader reads the topics of the tables into an assembler and knows how far they may be cut. It belongs to the
// goroutine that streams.
type reader struct {
	s         *Source
	broker    broker
	assembler *assembler
	envelopes envelopeDecoder
	resume    *bookmark
	wanted    map[string]cdc.TableID // topics to read
	// owed are the topics of which nothing may be missing since the stream's position, and which the bookmark counts for: those of tables that were wanted
	// when it began, and have been since. A table that comes later, or once more, is copied at a later position. Nil before the first are wanted.
	owed   map[string]bool
	topics map[string]*topic // topics that are read
	places int               // partitions so far, for their indexes
	jobs   map[string]bool   // changefeeds seen in rows and found in order
	unsure bool              // a row of another changefeed came
}

// topic is one that is read.
type topic struct {
	id    [16]byte
	table cdc.TableID
	parts []*partition
}

// partition is one that is read.
type partition struct {
	index    int
	next     int64
	resolved cdc.Position // zero until the first resolved timestamp came
	sent     time.Time    // when that was sent
}

// newReader returns a reader that begins so that every row after from is read.
func (s *Source) newReader(b broker, from cdc.Position) *reader {
	rd := &reader{
		s: s, broker: b, assembler: newAssembler(from, s.spoolDir(), s.cfg.MemoryBytes), resume: s.marks.bookmark(from),
		wanted: map[string]cdc.TableID{}, topics: map[string]*topic{}, jobs: map[string]bool{},
	}
	s.marks.begin(rd.resume)
	return rd
}

func (rd *reader) close() {
	rd.broker.close()
	rd.assembler.close()
}

// want sets the tables to be read. Topics of others are read no more.
func (rd *reader) want(tables map[cdc.TableID]*cdc.Table) error {
	clear(rd.wanted)
	for id, t := range tables {
		name := rd.s.cfg.Database.Topic(t)
		if _, taken := rd.wanted[name]; taken {
			return misconfigured("exclude or rename one of them, or use the option full_table_name", nil, "two tables share topic %s, one of them is %s", name, t.FullName())
		}
		rd.wanted[name] = id
	}
	if rd.owed == nil {
		rd.owed = map[string]bool{}
		for name := range rd.wanted {
			rd.owed[name] = true
		}
	}
	maps.DeleteFunc(rd.owed, func(name string, _ bool) bool {
		_, wanted := rd.wanted[name]
		return !wanted
	})
	var gone []string
	for name, t := range rd.topics {
		id, wanted := rd.wanted[name]
		if !wanted {
			gone = append(gone, name)
			delete(rd.topics, name)
			continue
		}
		t.table = id
	}
	if len(gone) > 0 {
		rd.broker.forget(gone...)
	}
	return nil
}

// discover begins to read topics and partitions that have appeared, and makes sure that the others are still the same.
func (rd *reader) discover(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(rd.wanted))
	there, err := rd.broker.describe(ctx, names)
	if err != nil {
		return err
	}
	starts := map[string]map[int32]int64{}
	for _, name := range names {
		info, exists := there[name]
		t := rd.topics[name]
		switch {
		case !exists && t != nil:
			if err := rd.confirmGone(ctx, name); err != nil {
				return err
			}
			continue
		case !exists:
			if b := rd.bookmarked(name); b != nil {
				if err := rd.confirmGone(ctx, name); err != nil {
					return err
				}
				return errors.New("a topic came back while it was looked for") // the stream is begun again
			}
			continue
		case t == nil:
			t = &topic{id: info.id, table: rd.wanted[name]}
			rd.topics[name] = t
		case t.id != info.id:
			return cdc.HistoryLost("topic %s was deleted and created anew", name)
		}
		if len(t.parts) < info.partitions {
			if starts[name], err = rd.begin(ctx, name, t, info); err != nil {
				return err
			}
		}
	}
	if len(starts) > 0 {
		rd.broker.read(starts)
	}
	return nil
}

// confirmGone returns a terminal error unless a topic is there after all: a broker that has just started may not know
// yet what there is.
func (rd *reader) confirmGone(ctx context.Context, name string) error {
	for range 3 {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
		there, err := rd.broker.describe(ctx, []string{name})
		if err != nil {
			return err
		}
		if _, exists := there[name]; exists {
			return nil
		}
	}
	return cdc.HistoryLost("topic %s does not exist any more", name)
}

func (rd *reader) bookmarked(topic string) *topicBookmark {
	if rd.resume == nil || !rd.owed[topic] {
		return nil
	}
	return rd.resume.Topics[topic]
}

// since is where partitions begin to be read that no bookmark knows: rows after the last cut were not sent before. Zero: at their beginning.
func (rd *reader) since() time.Time {
	if rd.assembler.last.IsZero() {
		return time.Time{}
	}
	return hlcTime(rd.assembler.last).Add(-rd.s.cfg.ClockSkew)
}

// begin finds where to begin reading the partitions of a topic that are not read yet.
func (rd *reader) begin(ctx context.Context, name string, t *topic, info topicInfo) (map[int32]int64, error) {
	since := rd.since()
	extents, err := rd.broker.locate(ctx, name, since)
	if err != nil {
		return nil, err
	}
	kept := rd.bookmarked(name)
	if kept != nil && kept.ID != info.id {
		return nil, cdc.HistoryLost("topic %s was deleted and created anew", name)
	}
	starts := map[int32]int64{}
	for p := int32(len(t.parts)); int(p) < info.partitions; p++ {
		e, ok := extents[p]
		if !ok {
			return nil, errors.New("topic " + name + " has partitions that are not ready")
		}
		offset := e.since
		switch {
		case kept != nil && int(p) < len(kept.Next) && kept.Next[p] >= 0:
			offset = kept.Next[p]
			if offset < e.start {
				return nil, cdc.HistoryLost("messages of topic %s, partition %d have expired before they were read: it begins at offset %d, the replica is at %d", name, p, e.start, offset)
			}
			if offset > e.end {
				return nil, cdc.HistoryLost("topic %s, partition %d ends at offset %d, before the replica's %d: messages were lost", name, p, e.end, offset)
			}
		case rd.owed[name] && e.start > 0 && e.since <= e.start && !since.IsZero():
			return nil, cdc.HistoryLost("topic %s, partition %d has no messages from before %s: those that the replica needs have expired", name, p, since.UTC().Format(time.RFC3339))
		}
		starts[p] = offset
		t.parts = append(t.parts, &partition{index: rd.s.marks.place(place{name, info.id, p}), next: offset})
		rd.places++
	}
	return starts, nil
}

// poll takes what has come, or waits for something until ctx ends.
func (rd *reader) poll(ctx context.Context) error {
	if err := rd.broker.poll(ctx, rd.take); err != nil {
		return err
	}
	rd.balance()
	return nil
}

const remedyOptions = "recreate the changefeed with the statement that this product prints for it"

// take puts a message into the assembler, or notes a resolved timestamp.
func (rd *reader) take(r *kgo.Record) error {
	t := rd.topics[r.Topic]
	if t == nil || int(r.Partition) >= len(t.parts) {
		return nil // not wanted any more
	}
	p := t.parts[r.Partition]
	p.next = r.Offset + 1
	rd.s.metrics.bytes.Add(float64(len(r.Value)))
	ev, err := rd.envelopes.decode(r.Value)
	switch {
	case errors.Is(err, errNoUpdated), errors.Is(err, errNoBefore), errors.Is(err, errNoAfter):
		return misconfigured(remedyOptions, err, "topic %s, partition %d, offset %d: %v", r.Topic, r.Partition, r.Offset, err)
	case err != nil:
		rd.s.registry.stop(t.table, &cdc.TableError{Code: cdc.CodeUnrepresentable, Table: r.Topic,
			Detail: "a message of the changefeed cannot be read: " + err.Error(), Remedy: "exclude the table, or restart the gateway to copy it anew"})
		return nil
	case ev.resolved:
		if p.resolved.Before(ev.position) {
			p.resolved, p.sent = ev.position, r.Timestamp
		}
		return nil
	case len(r.Key) == 0:
		return misconfigured(remedyOptions, nil, "topic %s, partition %d, offset %d: a row has no key", r.Topic, r.Partition, r.Offset)
	}
	if len(ev.job) > 0 && !rd.jobs[string(ev.job)] {
		rd.jobs[string(ev.job)], rd.unsure = true, true
	}
	x := row{position: ev.position, table: t.table, key: r.Key, data: ev.after}
	if ev.after != nil {
		x.flags |= flagAfter
	} else {
		x.data = ev.before
	}
	if ev.before != nil {
		x.flags |= flagBefore
	}
	if ev.scanned() {
		x.flags |= flagScanned
	}
	return rd.assembler.add(&x, p.index, r.Offset)
}

// least returns the cut that is allowed: the least resolved timestamp of all partitions, when it was known to all, and where it lies.
func (rd *reader) least() (at cdc.Position, sent time.Time, topic string, number int) {
	first := true
	for name, t := range rd.topics {
		for i, p := range t.parts {
			if first || p.resolved.Before(at) {
				at, topic, number = p.resolved, name, i
			}
			first = false
			if sent.Before(p.sent) {
				sent = p.sent
			}
		}
	}
	return at, sent, topic, number
}

// balance leaves partitions alone that are ahead of the slowest while too much is in files already. What
// the slowest brings is always read: without it there is no cut.
func (rd *reader) balance() {
	if rd.assembler.spilled <= rd.s.cfg.SpoolBytes {
		rd.broker.hold(nil)
		return
	}
	at, _, _, _ := rd.least()
	ahead := map[string][]int32{}
	for name, t := range rd.topics {
		for i, p := range t.parts {
			if at.Before(p.resolved) {
				ahead[name] = append(ahead[name], int32(i))
			}
		}
	}
	rd.broker.hold(ahead)
}

// mark remembers where to read on from a cut.
func (rd *reader) mark(cut cdc.Position, sent time.Time) {
	next := make([]int64, rd.places)
	for i := range next {
		next[i] = -1
	}
	for _, t := range rd.topics {
		for _, p := range t.parts {
			next[p.index] = p.next
		}
	}
	rd.assembler.oldest(next)
	rd.s.marks.add(mark{cut: cut, sent: sent, next: next})
}
