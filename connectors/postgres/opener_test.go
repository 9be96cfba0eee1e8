package postgres

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// opening records what a handler is told before it has a transaction, too.
type opening struct{ recorder }

func (o *opening) Open(least cdc.Position) { o.log = append(o.log, "opens "+least.String()) }

// A transaction is opened once however many calls it takes, and one that is skipped or has no changes not at all.
func TestStream_tellsWhereATransactionEndsBeforeItsChanges(t *testing.T) {
	t.Parallel()
	var h opening
	st := offlineStream(t, &h, 1)
	st.from = 0x100
	insert := func(a string) message { return message{kindInsert}.u32(7).tuple('N', a, nil, nil) }
	err := st.play(
		encodeBegin(0x50), encodeRelation(7, "public", "t", 'd', "a", "b", "c"), insert("skipped"), encodeCommit(0x60, 0),
		encodeBegin(0x120), insert("1"), insert("2"), encodeCommit(0x128, 0),
		encodeBegin(0x130), encodeCommit(0x138, 0),
		encodeBegin(0x140), insert("3"), encodeCommit(0x148, 0),
	)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"opens 0/121", "1 t old= new=1,NULL,NULL,", "1 t old= new=2,NULL,NULL,", "commit 0/128 2000-01-01T00:00:00Z",
		"opens 0/141", "1 t old= new=3,NULL,NULL,", "commit 0/148 2000-01-01T00:00:00Z",
	}
	if diff := cmp.Diff(want, h.log); diff != "" {
		t.Errorf("handed over (-want +got):\n%s", diff)
	}
}
