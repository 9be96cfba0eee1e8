package postgres_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/e2e/stand"
)

// sharingSink holds the first rows of a table back until so many goroutines have some.
type sharingSink struct {
	countingSink
	arrive chan struct{}
	all    chan struct{}
}

func newSharingSink(ctx context.Context, callers int) *sharingSink {
	s := &sharingSink{arrive: make(chan struct{}, 100), all: make(chan struct{})}
	go func() {
		defer close(s.all)
		for range callers {
			select {
			case <-s.arrive:
			case <-ctx.Done():
				return
			}
		}
	}()
	return s
}

func (s *sharingSink) Rows(ctx context.Context, t *cdc.Table, rows []cdc.Row) error {
	select {
	case <-s.all:
	case s.arrive <- struct{}{}:
		<-s.all
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.countingSink.Rows(ctx, t, rows)
}

// largeTables has two tables of more than one piece each, with a row on each page: 4 and, in partitions, 3.
const largeTables = `CREATE TABLE large (id int PRIMARY KEY, filler char(900)) WITH (fillfactor = 10);
	INSERT INTO large SELECT g, '' FROM generate_series(1, 50000) g;
	CREATE TABLE parted (id int PRIMARY KEY, filler char(900)) PARTITION BY RANGE (id);
	CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (0) TO (1000) WITH (fillfactor = 10);
	CREATE TABLE parted_high PARTITION OF parted FOR VALUES FROM (1000) TO (100000) WITH (fillfactor = 10);
	INSERT INTO parted SELECT g, '' FROM generate_series(1, 35000) g;
	CREATE TABLE small (id int PRIMARY KEY); INSERT INTO small SELECT generate_series(1, 10)`

func TestCopy_sharesLargeTablesAmongConnections(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, largeTables)
	ctx := stand.Within(t, time.Minute)
	found, err := b.source.Tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var ids []cdc.TableID
	for _, d := range found {
		ids = append(ids, d.Table.ID)
	}
	sink := newSharingSink(ctx, 4)
	if _, err := b.source.Copy(ctx, ids, sink); err != nil {
		t.Fatal(err)
	}
	if sink.rows != 85_010 || len(sink.done) != 3 || sink.stopped != nil {
		t.Errorf("copied %d rows, complete are %v, stopped %v", sink.rows, sink.done, sink.stopped)
	}
	b.follow() // the model takes no key twice
	b.same()
}

// A server that has no connection left for a copy's helpers is copied by fewer.
func TestCopy_goesOnWithTheConnectionsThatThereAre(t *testing.T) {
	t.Parallel()
	b := newTestbed(t, largeTables+`;
		CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
			IF EXISTS (SELECT FROM pg_stat_activity WHERE pid = pg_backend_pid() AND backend_type = 'client backend' AND application_name = 'freshet freshet') THEN
				RAISE EXCEPTION 'no connection is left';
			END IF; END $$;
		CREATE EVENT TRIGGER refuse ON login EXECUTE FUNCTION refuse();
		ALTER EVENT TRIGGER refuse ENABLE ALWAYS`)
	ctx := stand.Within(t, time.Minute)
	found, err := b.source.Tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	sink := &countingSink{}
	if _, err := b.source.Copy(ctx, []cdc.TableID{found[0].Table.ID}, sink); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("50000 [large]", fmt.Sprint(sink.rows, " ", sink.done)); diff != "" {
		t.Errorf("rows and complete tables (-want +got):\n%s", diff)
	}
}
