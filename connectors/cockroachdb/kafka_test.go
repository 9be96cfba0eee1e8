//go:build kafka

package cockroachdb_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/cockroachdb"
	"github.com/freshet-io/freshet/connectors/cockroachdb/changefeedtest"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/e2e/stand"
	local "github.com/freshet-io/freshet/local/kafka"
	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/local/toolchain"
)

// The broker is shared by all tests: each has topics of its own.
var (
	sharedBroker = sync.OnceValues(startBroker)
	started      atomic.Pointer[local.Broker]
	brokerDir    atomic.Pointer[string]
	serial       atomic.Int64
)

func TestMain(m *testing.M) {
	code := m.Run()
	if b := started.Load(); b != nil {
		if err := b.Kill(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if dir := brokerDir.Load(); dir != nil {
		_ = os.RemoveAll(*dir)
	}
	os.Exit(code)
}

func startBroker() (*local.Broker, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cache, err := toolchain.Default()
	if err != nil {
		return nil, err
	}
	jars, err := cache.Kafka(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(stand.TempDir(), "freshet-test-")
	if err != nil {
		return nil, err
	}
	brokerDir.Store(&dir)
	b, err := local.NewBroker(local.BrokerConfig{Jars: jars, DataDir: filepath.Join(dir, "kafka")})
	if err != nil {
		return nil, err
	}
	if err := b.Start(ctx); err != nil {
		return nil, err
	}
	started.Store(b)
	return b, nil
}

// testbed is an emulated database with its changefeed.
type testbed struct {
	t      *testing.T
	broker *local.Broker
	server *pgserver.Server
	url    string
	e      *emulator
}

func newTestbed(t *testing.T, envelope changefeedtest.Envelope) *testbed {
	t.Helper()
	return newTestbedOf(t, sourcetest.Schema, envelope)
}

func newTestbedOf(t *testing.T, schema string, envelope changefeedtest.Envelope) *testbed {
	t.Helper()
	broker, err := sharedBroker()
	if err != nil {
		t.Fatal(err)
	}
	b := &testbed{t: t, broker: broker, server: stand.Postgres(t)}
	b.url = b.server.URL("postgres")
	stand.ExecAt(t, b.url, schema)
	b.e = startEmulator(t, b.url, broker.Address(), fmt.Sprintf("t%d-%d", os.Getpid(), serial.Add(1)), envelope)
	return b
}

func (b *testbed) newSource(t testing.TB, options ...func(*cockroachdb.Config)) *cockroachdb.Source {
	t.Helper()
	cfg := cockroachdb.Config{Database: b.e, Kafka: kafka.Config{Brokers: []string{b.broker.Address()}}, CatalogInterval: 100 * time.Millisecond,
		ClockSkew: time.Second, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))}
	for _, o := range options {
		o(&cfg)
	}
	s, err := cockroachdb.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// database is the testbed for the suite that every source must pass.
func (b *testbed) database(options ...func(*cockroachdb.Config)) sourcetest.Database {
	return sourcetest.Database{URL: b.url, Open: func(t testing.TB) cdc.Source { return b.newSource(t, options...) }}
}

// keeper keeps a bookmark for what was confirmed, as a replica does in its epoch record.
type keeper struct {
	*cockroachdb.Source
	bookmark *atomic.Pointer[[]byte]
}

func (k keeper) Confirm(p cdc.Position) {
	if b := k.Bookmark(p); b != nil {
		k.bookmark.Store(&b)
	}
	k.Source.Confirm(p)
}

// databaseWithBookmarks gives each source the bookmark of the one before.
func (b *testbed) databaseWithBookmarks(kept *atomic.Pointer[[]byte]) sourcetest.Database {
	return sourcetest.Database{URL: b.url, Open: func(t testing.TB) cdc.Source {
		s := b.newSource(t)
		if bookmark := kept.Load(); bookmark != nil {
			if err := s.Restore(*bookmark); err != nil {
				t.Fatal(err)
			}
		}
		return keeper{s, kept}
	}}
}

func TestSource_copyMeetsTheStreamUnderWrites(t *testing.T) {
	b := newTestbed(t, changefeedtest.Wrapped)
	sourcetest.CopyMeetsStream(t, b.database(), 1)
}

func TestSource_equalsTheDatabaseAfterRandomTransactions(t *testing.T) {
	for name, envelope := range map[string]changefeedtest.Envelope{"wrapped": changefeedtest.Wrapped, "enriched": changefeedtest.Enriched} {
		t.Run(name, func(t *testing.T) {
			b := newTestbed(t, envelope)
			m := sourcetest.EqualsTheDatabase(t, b.database(func(c *cockroachdb.Config) { c.MemoryBytes = 100_000 }))
			t.Logf("%d transactions, %d copies", m.Commits(), m.Copies())
		})
	}
}

func TestSource_equalsTheDatabaseWhenPartitionsAreAdded(t *testing.T) {
	b := newTestbed(t, changefeedtest.Wrapped)
	b.e.grow()
	sourcetest.CopyMeetsStream(t, b.database(), 2)
	sourcetest.Resumes(t, b.database(), 2, func(stop func()) {
		b.e.grow()
		stop()
	})
}

func TestSource_resumesFromAPositionWithoutLossOrRepetition(t *testing.T) {
	b := newTestbed(t, changefeedtest.Wrapped)
	sourcetest.Resumes(t, b.database(), 3, func(stop func()) { stop() })
}

func TestSource_resumesWithABookmark(t *testing.T) {
	b := newTestbed(t, changefeedtest.Enriched)
	var kept atomic.Pointer[[]byte]
	sourcetest.Resumes(t, b.databaseWithBookmarks(&kept), 3, func(stop func()) { stop() })
	if kept.Load() == nil {
		t.Error("no bookmark was given")
	}
}

func TestSource_resumesThroughKillsOfTheBroker(t *testing.T) {
	b := newTestbed(t, changefeedtest.Wrapped)
	sourcetest.Resumes(t, b.database(), 1, sourcetest.Killed(t, b.broker))
}

func TestStream_reportsLostHistory(t *testing.T) {
	b := newTestbed(t, changefeedtest.Wrapped)
	m := sourcetest.NewModel()
	var kept atomic.Pointer[[]byte]
	stop := m.Start(t, b.databaseWithBookmarks(&kept).Open(t))
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	ctx := stand.Within(t, 2*time.Minute)
	open := func() *cockroachdb.Source {
		s := b.newSource(t)
		if _, err := s.Tables(ctx); err != nil {
			t.Fatal(err)
		}
		return s
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(b.broker.Address()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	topic := b.e.Topic(b.e.found[0].Table)

	// The topic is written to at a time of its own, and read after that.
	for written := false; !written; {
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err != nil {
			t.Fatal(err)
		}
		ends.Each(func(o kadm.ListedOffset) { written = written || o.Offset > 0 })
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for first := kept.Load(); kept.Load() == nil || kept.Load() == first; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("no bookmark is given")
		}
	}
	stop()

	// All that there was expires while nobody reads.
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteRecords(ctx, ends.Offsets()); err != nil {
		t.Fatal(err)
	}
	sourcetest.WantTerminal(t, open().Stream(ctx, m.Position(), m), cdc.CodeHistoryLost)

	// The topic is deleted; the bookmark knows that it was there.
	src := open()
	if err := src.Restore(*kept.Load()); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteTopics(ctx, topic); err != nil {
		t.Fatal(err)
	}
	sourcetest.WantTerminal(t, src.Stream(ctx, m.Position(), m), cdc.CodeHistoryLost)
}
