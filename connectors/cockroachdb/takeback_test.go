package cockroachdb

import (
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// What a table needs that is taken back is what comes after its next copy, whatever has become of its topic meanwhile.
func TestStream_takesATableBackWhoseTopicHasLostMessages(t *testing.T) {
	for name, lose := range map[string]func(*memoryTopic){
		"expired":       func(topic *memoryTopic) { topic.parts[0].start = 25 },
		"all expired":   func(topic *memoryTopic) { topic.parts[0].start = int64(len(topic.parts[0].records)) },
		"created anew":  func(topic *memoryTopic) { topic.id = [16]byte{99} },
		"not all there": func(topic *memoryTopic) { topic.parts[0].records = topic.parts[0].records[:5] },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, table(1, "t", "a"), table(2, "other", "a"))
			for n := range 30 {
				s.resolve("t", n)
				s.resolve("other", n)
			}
			s.bookmarkEnd()
			change := func(tables ...cdc.Discovered) {
				s.db.tables = tables
				if err := s.src.follow(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			s.copiesAt(42)
			s.resolve("t", 30)
			s.resolve("other", 30)
			got, err := s.play(29, 50, map[int]func(){30: func() {
				change(table(1, "t", "a"))
				s.resolve("t", 40)
			}, 40: func() {
				lose(s.m.topics["shop.public.other"])
				change(table(1, "t", "a"), table(2, "other", "a"))
				s.row("other", 1, "", `{"id": 1, "a": "after the copy"}`, 45, 0)
				s.resolve("other", 50)
				s.resolve("t", 50)
			}})
			wantTranscript(t, `watermark 30000000000.0000000000 dropped 2 watermark 40000000000.0000000000 discovered other, 2 columns, stopped: false
				insert other id=1 a=after the copy commit 45000000000.0000000000 watermark 50000000000.0000000000`, got, err)
		})
	}
}
