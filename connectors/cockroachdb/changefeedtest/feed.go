package changefeedtest

import (
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Config says how a feed behaves.
type Config struct {
	Envelope Envelope
	// Job is the ID of the changefeed's job.
	Job string
	// Duplicates is how many times a row is sent again, on average.
	Duplicates float64
	// Send takes the messages.
	Send func(Message)
	// Now is the clock for messages, by default the timestamp of what they carry.
	Now func() time.Time
}

// Feed is a changefeed. It is not safe for concurrent use.
type Feed struct {
	cfg    Config
	random *rand.Rand
	topics map[string]*topic
	names  []string
	queues map[string]*queue
	ready  []*queue // those that have rows to be sent
	// recent are rows that were sent, of which some are sent again.
	recent []Message
	next   int
	newest cdc.Position
}

type topic struct {
	partitions []partition
}

type partition struct {
	resolved cdc.Position
	late     int // resolved timestamps that it does not get yet
}

// queue holds the versions of one key that were not sent yet.
type queue struct {
	name string
	rows []pending
}

type pending struct {
	at      cdc.Position
	message Message
}

const remembered = 512

// New returns a feed whose choices follow from a seed.
func New(seed uint64, cfg Config) *Feed {
	return &Feed{cfg: cfg, random: rand.New(rand.NewPCG(seed, 7)), topics: map[string]*topic{}, queues: map[string]*queue{}}
}

// Topic adds a topic.
func (f *Feed) Topic(name string, partitions int) {
	f.topics[name] = &topic{partitions: make([]partition, partitions)}
	f.names = append(f.names, name)
}

// Grow adds a partition to a topic. It gets rows at once, and resolved timestamps somewhat later.
func (f *Feed) Grow(name string) {
	t := f.topics[name]
	t.partitions = append(t.partitions, partition{late: f.random.IntN(4)})
}

// Partitions returns how many partitions a topic has.
func (f *Feed) Partitions(name string) int { return len(f.topics[name].partitions) }

// Waiting returns how many keys have rows that were not sent yet.
func (f *Feed) Waiting() int { return len(f.ready) }

// Commit takes a transaction, whose rows are to be sent. Its timestamp is not before that of any before it.
func (f *Feed) Commit(tx Transaction) {
	f.newest = tx.At
	for i := range tx.Writes {
		w := &tx.Writes[i]
		id := w.Topic + "/" + string(w.Key)
		q := f.queues[id]
		if q == nil {
			q = &queue{name: id}
			f.queues[id] = q
			f.ready = append(f.ready, q)
		}
		q.rows = append(q.rows, pending{tx.At, Message{Topic: w.Topic, Key: w.Key, Value: f.value(w, tx.At), Sent: f.clock(tx.At)}})
	}
}

func (f *Feed) clock(at cdc.Position) time.Time {
	if f.cfg.Now != nil {
		return f.cfg.Now()
	}
	return time.Unix(0, int64(at.Major)).Add(time.Duration(f.random.IntN(50)) * time.Millisecond)
}

// Send sends the next row of a key chosen at random, and maybe some again. It reports whether there was one.
func (f *Feed) Send() bool {
	if len(f.ready) == 0 {
		return false
	}
	i := f.random.IntN(len(f.ready))
	q := f.ready[i]
	m := q.rows[0].message
	q.rows = q.rows[1:]
	if len(q.rows) == 0 {
		delete(f.queues, q.name)
		f.ready[i] = f.ready[len(f.ready)-1]
		f.ready = f.ready[:len(f.ready)-1]
	}
	f.send(m)
	if len(f.recent) < remembered {
		f.recent = append(f.recent, m)
	} else {
		f.recent[f.next] = m
		f.next = (f.next + 1) % remembered
	}
	for f.random.Float64() < f.cfg.Duplicates/(1+f.cfg.Duplicates) {
		f.send(f.recent[f.random.IntN(len(f.recent))])
	}
	return true
}

// Restart sends many recent rows again, as a changefeed does that begins anew at its checkpoint.
func (f *Feed) Restart() {
	for _, i := range f.random.Perm(len(f.recent)) {
		if f.random.IntN(3) > 0 {
			f.send(f.recent[i])
		}
	}
}

// send sends a row to its key's partition.
func (f *Feed) send(m Message) {
	h := fnv.New32a()
	_, _ = h.Write(m.Key)
	m.Partition = int32(h.Sum32() % uint32(len(f.topics[m.Topic].partitions)))
	f.cfg.Send(m)
}

// resolvable returns the highest timestamp up to which every row has been sent.
func (f *Feed) resolvable() cdc.Position {
	least := f.newest
	for _, q := range f.ready {
		if at := q.rows[0].at; !least.Before(at) {
			least = before(at)
		}
	}
	return least
}

func before(p cdc.Position) cdc.Position {
	if p.Minor > 0 {
		return cdc.Position{Major: p.Major, Minor: p.Minor - 1}
	}
	return cdc.Position{Major: p.Major - 1, Minor: 1 << 20}
}

// Resolve sends the timestamp that is resolved to the partitions, to each with a probability.
func (f *Feed) Resolve(probability float64) {
	at := f.resolvable()
	for _, name := range f.names {
		t := f.topics[name]
		for p := range t.partitions {
			part := &t.partitions[p]
			switch {
			case f.random.Float64() >= probability || at.Before(part.resolved):
			case part.late > 0:
				part.late--
			default:
				part.resolved = at
				f.cfg.Send(Message{Topic: name, Partition: int32(p), Value: resolvedValue(at), Sent: f.clock(at)})
			}
		}
	}
}

// Advance says that nothing more will be committed up to a timestamp.
func (f *Feed) Advance(to cdc.Position) {
	if f.newest.Before(to) {
		f.newest = to
	}
}
