package cockroachdb

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// mark says where to read on from a cut.
type mark struct {
	cut cdc.Position
	// sent is when the newest of the resolved timestamps that allowed the cut was sent, by the messages' clock.
	sent time.Time
	// next holds, for each partition, an offset at or before every row that is after the cut.
	next []int64
}

// place is a partition of a topic.
type place struct {
	topic     string
	topicID   [16]byte
	partition int32
}

// marks remembers where cuts were, so that a bookmark can be given for any position since the last that was confirmed.
type marks struct {
	mu     sync.Mutex
	job    string
	places []place // of the indexes in mark.next
	marks  []mark  // by cut
	// restored is the bookmark that the consumer kept.
	restored *bookmark
}

// mostMarks bounds what is remembered when nobody confirms: every second mark is dropped then.
const mostMarks = 4096

// bookmark is what a consumer keeps with a position, as JSON.
type bookmark struct {
	Job string `json:"job"`
	// At is the cut that the offsets belong to, as an HLC.
	At     string                    `json:"at"`
	Topics map[string]*topicBookmark `json:"topics"`
	at     cdc.Position
}

type topicBookmark struct {
	ID [16]byte `json:"id"`
	// Next holds an offset for each partition; -1 for one that was not read.
	Next []int64 `json:"next"`
}

// begin forgets all marks for a new stream, which begins with a bookmark or nil.
func (m *marks) begin(b *bookmark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.places, m.marks, m.restored, m.job = nil, nil, b, ""
	if b != nil {
		m.job = b.Job
	}
}

// place gives a partition the next index.
func (m *marks) place(p place) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.places = append(m.places, p)
	return len(m.places) - 1
}

// add remembers a cut.
func (m *marks) add(k mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.marks = append(m.marks, k)
	if len(m.marks) > mostMarks {
		kept := m.marks[:0]
		for i := 0; i < len(m.marks); i += 2 {
			kept = append(kept, m.marks[i])
		}
		m.marks = kept
	}
}

// confirm forgets what is not needed to read on from a position or a later one.
func (m *marks) confirm(p cdc.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(p)
	if i <= 0 {
		return
	}
	m.marks = append(m.marks[:0], m.marks[i:]...)
}

// find returns the index of the last mark at or before a position, or -1.
func (m *marks) find(p cdc.Position) int {
	for i := len(m.marks) - 1; i >= 0; i-- {
		if !p.Before(m.marks[i].cut) {
			return i
		}
	}
	return -1
}

// bookmark returns the bookmark for a position, or nil if there is none at or before it.
func (m *marks) bookmark(p cdc.Position) *bookmark {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(p)
	if i < 0 {
		if m.restored != nil && !p.Before(m.restored.at) {
			return m.restored
		}
		return nil
	}
	k := m.marks[i]
	b := &bookmark{Job: m.job, At: formatHLC(k.cut), at: k.cut, Topics: map[string]*topicBookmark{}}
	for i, next := range k.next {
		at := m.places[i]
		t := b.Topics[at.topic]
		if t == nil || t.ID != at.topicID {
			t = &topicBookmark{ID: at.topicID}
			b.Topics[at.topic] = t
		}
		for len(t.Next) <= int(at.partition) {
			t.Next = append(t.Next, -1)
		}
		t.Next[at.partition] = next
	}
	return b
}

// sentBefore returns the last cut that resolved timestamps sent before a time allowed; zero if none is known.
func (m *marks) sentBefore(t time.Time) cdc.Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := len(m.marks) - 1; i >= 0; i-- {
		if m.marks[i].sent.Before(t) {
			return m.marks[i].cut
		}
	}
	return cdc.Position{}
}

// changefeed notes the job that writes the topics.
func (m *marks) changefeed(job string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.job = job
}

func (m *marks) currentJob() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.job
}

func (b *bookmark) encode() ([]byte, error) { return json.Marshal(b) }

func decodeBookmark(data []byte) (*bookmark, error) {
	if data == nil {
		return nil, nil
	}
	b := &bookmark{}
	err := json.Unmarshal(data, b)
	if err == nil {
		b.at, err = parseHLC(b.At)
	}
	if err != nil {
		return nil, fmt.Errorf("read bookmark: %w", err)
	}
	return b, nil
}
