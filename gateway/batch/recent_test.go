package batch

import (
	"slices"
	"testing"
	"time"
)

func TestDispatcher_noResultIsSharedWithAnotherSnapshot(t *testing.T) {
	f := start(t, Config{Slots: 8, Budget: time.Hour})
	close(f.eng.release)
	older := &fakeSnapshot{pos: 1}
	for i, on := range []struct {
		snapshot *fakeSnapshot
		runs     int
	}{
		{older, 1},
		{&fakeSnapshot{pos: 2}, 2}, // newer rows
		{older, 3},                 // of a transaction that began before them
		{&fakeSnapshot{pos: 2}, 3}, // which is still the newest that is known
	} {
		r, err := f.d.RunOn(t.Context(), on.snapshot, query("same"))
		if err != nil {
			t.Fatal(err)
		}
		if r.Position() != on.snapshot.Position() {
			t.Errorf("query %d on the snapshot of %v got the answer of %v", i, on.snapshot.Position(), r.Position())
		}
		if n, err := drain(t, r); n != 1 || err != nil {
			t.Fatalf("drain: %d rows, %v", n, err)
		}
		if len(f.eng.ran) != on.runs {
			t.Errorf("after query %d the engine ran %v, want %d runs", i, f.eng.ran, on.runs)
		}
	}
	if want := []string{"same@snapshot1", "same@snapshot2", "same@snapshot1"}; !slices.Equal(f.eng.ran, want) {
		t.Errorf("the engine ran %v, want %v", f.eng.ran, want)
	}
}
