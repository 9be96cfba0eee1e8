//go:build kafka

package cockroachdb_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cockroachdb"
	"github.com/freshet-io/freshet/connectors/cockroachdb/changefeedtest"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
)

// emulator stands in for CockroachDB: the database is a PostgreSQL, and a changefeed's generator writes to a real Kafka
// what PostgreSQL's own stream says was committed. Log positions become timestamps as they are read.
type emulator struct {
	t       *testing.T
	prefix  string
	brokers []string
	pg      *postgres.Source
	found   []cdc.Discovered // by definitions of the emulator's own
	tables  map[cdc.TableID]*cdc.Table
	encoder *changefeedtest.Encoder

	mu      sync.Mutex // guards what follows
	feed    *changefeedtest.Feed
	client  *kgo.Client
	state   map[cdc.TableID]map[string]cdc.Row // by JSON key
	staged  map[string]*stagedRow
	order   []*stagedRow
	last    cdc.Position // the newest timestamp
	reached []reached
	changed chan struct{}
	commits int
}

// reached says that all up to a log position was committed up to a timestamp, and all else after it.
type reached struct{ log, at cdc.Position }

// stagedRow is a row that the open transaction has touched.
type stagedRow struct {
	table         *cdc.Table
	key           string
	before, after cdc.Row
}

const emulatedPartitions = 3

// startEmulator reads a PostgreSQL whose schema is there already.
func startEmulator(t *testing.T, url, broker, prefix string, envelope changefeedtest.Envelope) *emulator {
	t.Helper()
	pg, err := postgres.New(postgres.Config{URL: url, Slot: "emulator", WatermarkInterval: 10 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	e := &emulator{t: t, prefix: prefix, brokers: []string{broker}, pg: pg, encoder: changefeedtest.NewEncoder(), state: map[cdc.TableID]map[string]cdc.Row{},
		tables: map[cdc.TableID]*cdc.Table{}, staged: map[string]*stagedRow{}, changed: make(chan struct{})}
	e.client = e.newClient()
	e.feed = changefeedtest.New(uint64(len(prefix)), changefeedtest.Config{Envelope: envelope, Job: "1", Duplicates: 0.3, Send: e.send, Now: time.Now})
	ctx := stand.Within(t, time.Minute)
	if e.found, err = pg.Tables(ctx); err != nil {
		t.Fatal(err)
	}
	var ids []cdc.TableID
	admin := kadm.NewClient(e.client)
	for i, d := range e.found {
		if d.Stopped != nil {
			t.Fatal(d.Stopped)
		}
		own := *d.Table
		own.Version = "1" // PostgreSQL's changes with its files
		e.found[i].Table, e.tables[own.ID] = &own, &own
		ids = append(ids, d.Table.ID)
		e.state[d.Table.ID] = map[string]cdc.Row{}
		if _, err := admin.CreateTopic(ctx, emulatedPartitions, 1, nil, e.Topic(d.Table)); err != nil {
			t.Fatal(err)
		}
		e.awaitPartitions(ctx, admin, e.Topic(d.Table), emulatedPartitions)
		e.feed.Topic(e.Topic(d.Table), emulatedPartitions)
	}
	at, err := pg.Copy(ctx, ids, stateSink{e})
	if err != nil {
		t.Fatal(err)
	}
	e.advance(at)
	streaming, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.follow(streaming, at)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		pg.Close()
		e.client.Close()
	})
	return e
}

func (e *emulator) newClient() *kgo.Client {
	client, err := kgo.NewClient(kgo.SeedBrokers(e.brokers...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		e.t.Fatal(err)
	}
	return client
}

// follow streams until ctx ends, again after errors, such as PostgreSQL's death.
func (e *emulator) follow(ctx context.Context, from cdc.Position) {
	for ctx.Err() == nil {
		err := e.pg.Stream(ctx, from, e)
		e.mu.Lock()
		from = e.reached[len(e.reached)-1].log
		clear(e.staged)
		e.order = nil
		if ctx.Err() == nil {
			e.t.Logf("the emulator streams again: %v", err)
		}
		e.mu.Unlock()
	}
}

// send produces a message; a broker that is down makes the client try again.
func (e *emulator) send(m changefeedtest.Message) {
	e.client.Produce(context.Background(), &kgo.Record{Topic: m.Topic, Partition: m.Partition, Key: m.Key, Value: m.Value, Timestamp: m.Sent}, func(r *kgo.Record, err error) {
		if err != nil && !errors.Is(err, kgo.ErrClientClosed) {
			e.t.Errorf("produce to %s, partition %d: %v", r.Topic, r.Partition, err)
		}
	})
}

// stateSink fills the emulator's state.
type stateSink struct{ e *emulator }

func (stateSink) Begin(context.Context, cdc.Position, []*cdc.Table) error { return nil }

func (stateSink) Done(context.Context, *cdc.Table) error { return nil }

func (s stateSink) Rows(_ context.Context, t *cdc.Table, rows []cdc.Row) error {
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	for _, row := range rows {
		key, err := s.e.encoder.Key(t, row)
		if err != nil {
			return err
		}
		s.e.state[t.ID][string(key)] = clone(row, nil)
	}
	return nil
}

func (s stateSink) Stopped(_ context.Context, _ cdc.TableID, why *cdc.TableError) error { return why }

// clone copies a row; values that the source left out come from the old row.
func clone(row, old cdc.Row) cdc.Row {
	out := make(cdc.Row, len(row))
	for i, d := range row {
		if d.Kind == cdc.Unchanged {
			out[i] = old[i]
			continue
		}
		out[i] = cdc.Datum{Kind: d.Kind, Data: slices.Clone(d.Data)}
	}
	return out
}

// Changes implements [cdc.Handler]: of several changes of a row the last one stays.
func (e *emulator) Changes(_ context.Context, changes []cdc.Change) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range changes {
		if err := e.stage(&changes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *emulator) stage(c *cdc.Change) error {
	if c.Op == cdc.Truncate {
		for key := range e.state[c.Table.ID] {
			e.touch(c.Table, key).after = nil
		}
		for _, r := range e.order {
			if r.table.ID == c.Table.ID {
				r.after = nil
			}
		}
		return nil
	}
	var old cdc.Row
	if c.Old != nil || c.Op == cdc.Update {
		identity := c.Old
		if identity == nil {
			identity = c.New
		}
		key, err := e.encoder.Key(c.Table, identity)
		if err != nil {
			return err
		}
		r := e.touch(c.Table, string(key))
		old, r.after = r.after, nil
	}
	if c.New == nil {
		return nil
	}
	key, err := e.encoder.Key(c.Table, c.New)
	if err != nil {
		return err
	}
	e.touch(c.Table, string(key)).after = clone(c.New, old)
	return nil
}

// touch returns a row of the open transaction.
func (e *emulator) touch(t *cdc.Table, key string) *stagedRow {
	id := fmt.Sprint(t.ID, key)
	r := e.staged[id]
	if r == nil {
		r = &stagedRow{table: t, key: key, before: e.state[t.ID][key], after: e.state[t.ID][key]}
		e.staged[id] = r
		e.order = append(e.order, r)
	}
	return r
}

// Commit implements [cdc.Handler].
func (e *emulator) Commit(_ context.Context, c cdc.Commit) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	tx := changefeedtest.Transaction{At: e.tick()}
	for _, r := range e.order {
		w := changefeedtest.Write{Topic: e.Topic(r.table), Key: []byte(r.key)}
		var err error
		if r.before != nil {
			if w.Before, err = e.encoder.Row(r.table, r.before); err != nil {
				return err
			}
		}
		delete(e.state[r.table.ID], r.key)
		if r.after != nil {
			e.state[r.table.ID][r.key] = r.after
			if w.After, err = e.encoder.Row(r.table, r.after); err != nil {
				return err
			}
		}
		tx.Writes = append(tx.Writes, w)
	}
	clear(e.staged)
	e.order = nil
	e.feed.Commit(tx)
	e.commits++
	e.arrive(c.Position, tx.At)
	for range e.commits % 7 { // some are sent at once, the others later
		e.feed.Send()
	}
	switch e.commits % 50 {
	case 0:
		e.feed.Restart()
	case 25:
		e.feed.Resolve(0.5)
	}
	return nil
}

// Watermark implements [cdc.Handler]: everything is sent, and resolved.
func (e *emulator) Watermark(_ context.Context, w cdc.Watermark) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.advanceLocked(w.Position)
	for e.feed.Send() {
	}
	e.feed.Resolve(0.8)
	return nil
}

// Discovered implements [cdc.Handler]. PostgreSQL announces a table whose partitions were truncated, which is in the stream as well.
func (e *emulator) Discovered(_ context.Context, d cdc.Discovered) error {
	if own := e.tables[d.Table.ID]; own == nil || !slices.Equal(own.Columns, d.Table.Columns) {
		return fmt.Errorf("table %s was discovered: the emulator's definitions must not change", d.Table.Name)
	}
	return nil
}

func (e *emulator) Dropped(_ context.Context, id cdc.TableID) error {
	return fmt.Errorf("table %d was dropped: the emulator's definitions must not change", id)
}

// tick returns a timestamp after all others.
func (e *emulator) tick() cdc.Position {
	now := cdc.Position{Major: uint64(time.Now().UnixNano())}
	if !e.last.Before(now) {
		now = cdc.Position{Major: e.last.Major, Minor: e.last.Minor + 1}
	}
	e.last = now
	return now
}

func (e *emulator) advance(log cdc.Position) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.advanceLocked(log)
}

func (e *emulator) advanceLocked(log cdc.Position) {
	at := e.tick()
	e.feed.Advance(at)
	e.arrive(log, at)
}

func (e *emulator) arrive(log, at cdc.Position) {
	e.reached = append(e.reached, reached{log, at})
	close(e.changed)
	e.changed = make(chan struct{})
}

// awaitPartitions waits until the broker shows a topic's partitions, which it does somewhat later than it makes them: a
// producer would give up before.
func (e *emulator) awaitPartitions(ctx context.Context, admin *kadm.Client, topic string, wanted int) {
	for {
		listed, err := admin.ListTopics(ctx, topic)
		if err != nil {
			e.t.Fatal(err)
		}
		if len(listed[topic].Partitions) == wanted {
			return
		}
	}
}

// grow adds a partition to every topic.
func (e *emulator) grow() {
	e.mu.Lock()
	defer e.mu.Unlock()
	ctx := stand.Within(e.t, time.Minute)
	admin := kadm.NewClient(e.client)
	for _, d := range e.found {
		if _, err := admin.CreatePartitions(ctx, 1, e.Topic(d.Table)); err != nil {
			e.t.Fatal(err)
		}
	}
	for _, d := range e.found {
		e.awaitPartitions(ctx, admin, e.Topic(d.Table), e.feed.Partitions(e.Topic(d.Table))+1)
	}
	if err := e.client.Flush(ctx); err != nil {
		e.t.Fatal(err)
	}
	e.client.Close()
	e.client = e.newClient() // which learns of the partitions before it produces
	for _, d := range e.found {
		e.feed.Grow(e.Topic(d.Table))
	}
}

// await waits until the stream has reached a log position.
func (e *emulator) await(ctx context.Context, log cdc.Position) error {
	for {
		e.mu.Lock()
		at, changed := e.reached[len(e.reached)-1].log, e.changed
		e.mu.Unlock()
		if !at.Before(log) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the emulator has not reached %s: %w", log, ctx.Err())
		}
	}
}

// timestamp returns the last timestamp at or before a log position.
func (e *emulator) timestamp(log cdc.Position) cdc.Position {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := len(e.reached) - 1; i >= 0; i-- {
		if !log.Before(e.reached[i].log) {
			return e.reached[i].at
		}
	}
	return cdc.Position{}
}

// Tables implements [cockroachdb.Database].
func (e *emulator) Tables(context.Context) ([]cdc.Discovered, error) { return e.found, nil }

// Topic implements [cockroachdb.Database].
func (e *emulator) Topic(t *cdc.Table) string { return e.prefix + "." + t.Schema + "." + t.Name }

// Changefeed implements [cockroachdb.Database].
func (e *emulator) Changefeed(context.Context) (cockroachdb.Changefeed, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return cockroachdb.Changefeed{Job: "1", Start: e.reached[0].at, Created: time.Unix(0, int64(e.reached[0].at.Major))}, nil
}

// Versions implements [cockroachdb.Database]: the emulator's definitions do not change.
func (e *emulator) Versions(context.Context, []cdc.TableID, cdc.Position) (map[cdc.TableID]string, error) {
	versions := map[cdc.TableID]string{}
	for id, t := range e.tables {
		versions[id] = t.Version
	}
	return versions, nil
}

// ClusterID implements [cockroachdb.Database].
func (e *emulator) ClusterID(ctx context.Context) (string, error) { return e.pg.SystemID(ctx) }

// Close implements [cockroachdb.Database]. The emulator ends with its test.
func (e *emulator) Close() {}

// Now implements [cockroachdb.Database].
func (e *emulator) Now(ctx context.Context) (cdc.Position, error) {
	log, err := e.pg.Current(ctx)
	if err != nil {
		return log, err
	}
	if err := e.await(ctx, log); err != nil {
		return cdc.Position{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reached[len(e.reached)-1].at, nil
}

// Copy implements [cockroachdb.Database].
func (e *emulator) Copy(ctx context.Context, tables []*cdc.Table, sink cdc.CopySink) (cdc.Position, error) {
	var ids []cdc.TableID
	for _, t := range tables {
		ids = append(ids, t.ID)
	}
	translated := &translatingSink{CopySink: sink, e: e}
	_, err := e.pg.Copy(ctx, ids, translated)
	return translated.at, err
}

// translatingSink makes timestamps of log positions.
type translatingSink struct {
	cdc.CopySink
	e  *emulator
	at cdc.Position
}

func (s *translatingSink) Begin(ctx context.Context, log cdc.Position, tables []*cdc.Table) error {
	if err := s.e.await(ctx, log); err != nil {
		return err
	}
	s.at = s.e.timestamp(log)
	var own []*cdc.Table
	for _, t := range tables {
		own = append(own, s.e.tables[t.ID])
	}
	return s.CopySink.Begin(ctx, s.at, own)
}

func (s *translatingSink) Rows(ctx context.Context, t *cdc.Table, rows []cdc.Row) error {
	return s.CopySink.Rows(ctx, s.e.tables[t.ID], rows)
}

func (s *translatingSink) Done(ctx context.Context, t *cdc.Table) error {
	return s.CopySink.Done(ctx, s.e.tables[t.ID])
}
