package cockroachdb

import (
	"context"
	"strings"
	"testing"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/jsonrow"
)

func TestStream_copiesATableAnewWhoseDefinitionChanged(t *testing.T) {
	s := newScene(t, table(1, "t", "a"))
	s.row("t", 1, "", `{"id": 1, "a": "old"}`, 10, 0)
	s.resolve("t", 10)
	s.copiesAt(40)
	got, err := s.play(0, 60, map[int]func(){10: func() {
		s.db.tables = []cdc.Discovered{table(1, "t", "a", "b")}
		s.row("t", 2, "", `{"id": 2, "a": "new", "b": null}`, 20, 0) // does not fit: the copy at 40 has it
		s.row("t", 1, `{"id": 1, "a": "old"}`, `{"id": 1, "a": "old", "b": "x"}`, 21, 10)
		s.resolve("t", 30)
	}, 30: func() {
		s.row("t", 3, "", `{"id": 3, "a": "of the old shape still"}`, 39, 0) // the copy has it
		s.row("t", 3, `{"id": 3, "a": "y"}`, `{"id": 3, "a": "y", "b": "z"}`, 50, 0)
		s.resolve("t", 60)
	}})
	wantTranscript(t, `insert t id=1 a=old commit 10000000000.0000000000 watermark 10000000000.0000000000
		truncate t commit 20000000000.0000000000 truncate t commit 21000000000.0000000000 watermark 30000000000.0000000000
		discovered t, 3 columns, stopped: false update t id=3 a=y b=z commit 50000000000.0000000000 watermark 60000000000.0000000000`, got, err)
}

// A copy's time is chosen before the stream knows of it, which hands over rows of later ones in between.
func TestStream_copiesATableOnceMoreWhereACopyLacksARowThatWasLeftOutForIt(t *testing.T) {
	s := newScene(t, table(1, "t", "a"))
	times := []int{25, 40}
	s.db.copied = func(ctx context.Context, tables []*cdc.Table, sink cdc.CopySink) (cdc.Position, error) {
		at := second(times[0])
		times = times[1:]
		return at, sink.Begin(ctx, at, tables)
	}
	s.row("t", 1, "", `{"id": 1, "a": "old"}`, 10, 0)
	s.resolve("t", 10)
	got, err := s.play(0, 60, map[int]func(){10: func() {
		s.db.tables = []cdc.Discovered{table(1, "t", "a", "b")}
		s.row("t", 2, "", `{"id": 2, "a": "new", "b": null}`, 20, 0)
		s.row("t", 3, "", `{"id": 3, "a": "newer", "b": null}`, 28, 0) // left out for the copy at 25
		s.resolve("t", 30)
	}, 30: func() {
		s.row("t", 3, `{"id": 3, "a": "newer", "b": null}`, "", 50, 0)
		s.resolve("t", 60)
	}})
	wantTranscript(t, `insert t id=1 a=old commit 10000000000.0000000000 watermark 10000000000.0000000000
		truncate t commit 20000000000.0000000000 truncate t commit 28000000000.0000000000 watermark 30000000000.0000000000
		discovered t, 3 columns, stopped: false discovered t, 3 columns, stopped: false
		delete t id=3 commit 50000000000.0000000000 watermark 60000000000.0000000000`, got, err)
}

func TestStream_stopsATableWhoseRowsNeverFit(t *testing.T) {
	s := newScene(t, table(1, "t", "a"), table(2, "other", "a"))
	acts := map[int]func(){}
	for n := 1; n <= 6; n++ {
		send := func() {
			s.copiesAt(10*n - 5)
			s.row("t", 1, "", `{"id": 1, "a": 5}`, 10*n, 0)
			s.row("other", n, "", `{"id": 1, "a": "fine"}`, 10*n, 0)
			s.resolve("t", 10*n)
			s.resolve("other", 10*n)
		}
		if n == 1 {
			send()
		} else {
			acts[10*(n-1)] = send
		}
	}
	got, err := s.play(0, 60, acts)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got, "discovered t, 2 columns, stopped: true") || strings.Count(got, "insert other") != 6 || strings.Count(got, "truncate t") > jsonrow.MostCopies+1 {
		t.Errorf("got\n%s", got)
	}
}
