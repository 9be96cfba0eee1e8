//go:build kafka

package debezium_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/debezium"
	access "github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/local/kafka"
	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/local/toolchain"
)

// stack is a real PostgreSQL, a real broker and a real Connect worker, which all tests share: each has a
// database, a slot, a connector and topics of its own.
type stack struct {
	dir      string
	postgres *pgserver.Server
	broker   *kafka.Broker
	connect  *kafka.Connect
	serial   atomic.Int64
}

var (
	servers = sync.OnceValues(startStack)
	started atomic.Pointer[stack] // by the first test that needs it
)

func TestMain(m *testing.M) {
	code := m.Run()
	if s := started.Load(); s != nil {
		s.kill()
	}
	os.Exit(code)
}

func startStack() (*stack, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cache, err := toolchain.Default()
	if err != nil {
		return nil, err
	}
	home, err := cache.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	jars, err := cache.Kafka(ctx)
	if err != nil {
		return nil, err
	}
	s := &stack{}
	if s.dir, err = os.MkdirTemp(stand.TempDir(), "freshet-test-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(s.dir, 0o711); err != nil { // for PostgreSQL's user
		return nil, err
	}
	if err := s.start(ctx, home, jars); err != nil {
		s.kill()
		return nil, err
	}
	started.Store(s)
	return s, nil
}

func (s *stack) start(ctx context.Context, home, jars string) (err error) {
	s.postgres, err = pgserver.New(pgserver.Config{Home: home, DataDir: filepath.Join(s.dir, "postgres"), Volatile: true,
		Settings: map[string]string{"max_replication_slots": "40", "max_wal_senders": "40"}})
	if err != nil {
		return err
	}
	if err := s.postgres.Start(ctx); err != nil {
		return err
	}
	key, err := writeCertificates(s.dir)
	if err != nil {
		return err
	}
	secure := &kafka.Secure{KeyFile: key, Users: map[string]string{user: password}}
	if s.broker, err = kafka.NewBroker(kafka.BrokerConfig{Jars: jars, DataDir: filepath.Join(s.dir, "kafka"), Secure: secure}); err != nil {
		return err
	}
	if err := s.broker.Start(ctx); err != nil {
		return err
	}
	if err := s.writePassword(); err != nil {
		return err
	}
	s.connect, err = kafka.NewConnect(kafka.ConnectConfig{Jars: jars, DataDir: filepath.Join(s.dir, "connect"), Brokers: s.broker.Address(), Settings: map[string]string{
		"config.providers":                              "database",
		"config.providers.database.class":               "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
		"config.providers.database.param.allowed.paths": s.secretDir(),
	}})
	if err != nil {
		return err
	}
	return s.connect.Start(ctx)
}

// secretDir is where the worker finds the database's password, as where a Secret is mounted.
func (s *stack) secretDir() string { return filepath.Join(s.dir, "database") }

func (s *stack) writePassword() error {
	u, err := url.Parse(s.postgres.URL("postgres"))
	if err != nil {
		return err
	}
	secret, _ := u.User.Password()
	if err := os.Mkdir(s.secretDir(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.secretDir(), "password"), []byte(secret), 0o600)
}

func (s *stack) kill() {
	var errs []error
	if s.connect != nil {
		errs = append(errs, s.connect.Kill())
	}
	if s.broker != nil {
		errs = append(errs, s.broker.Kill())
	}
	if s.postgres != nil {
		errs = append(errs, s.postgres.Discard())
	}
	errs = append(errs, os.RemoveAll(s.dir))
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// testbed is a database of its own, with a source on it.
type testbed struct {
	t     testing.TB
	stack *stack
	name  string
	url   string
}

func newTestbed(t testing.TB, schema string) *testbed {
	t.Helper()
	s, err := servers()
	if err != nil {
		t.Fatal(err)
	}
	b := &testbed{t: t, stack: s, name: fmt.Sprintf("t%d_%d", os.Getpid(), s.serial.Add(1)), url: s.postgres.URL("postgres")}
	b.exec("CREATE DATABASE " + b.name)
	u, err := url.Parse(b.url)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + b.name
	b.url = u.String()
	b.exec(schema)
	t.Cleanup(func() {
		if err := b.newSource().Remove(stand.Within(t, time.Minute)); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *testbed) newSource(options ...func(*debezium.Config)) *debezium.Source {
	b.t.Helper()
	cfg := debezium.Config{
		Postgres: postgres.Config{URL: b.url, Slot: b.name, CatalogInterval: 50 * time.Millisecond, SlotWait: 30 * time.Second},
		Transport: debezium.Transport{
			Kafka: access.Config{Brokers: []string{b.stack.broker.Address()}}, Prefix: b.name, Connect: debezium.REST{URL: b.stack.connect.URL()},
			Connector: debezium.Connector{Partitions: 3},
		},
		Logger: slog.New(slog.NewTextHandler(b.t.Output(), nil)),
	}
	for _, o := range options {
		o(&cfg)
	}
	s, err := debezium.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(s.Close)
	return s
}

// database is the testbed for the suite that every source must pass.
func (b *testbed) database(options ...func(*debezium.Config)) sourcetest.Database {
	return sourcetest.Database{URL: b.url, Open: func(testing.TB) cdc.Source { return b.newSource(options...) }}
}

func (b *testbed) exec(sql ...string) {
	b.t.Helper()
	stand.ExecAt(b.t, b.url, sql...)
}

// admin returns a client for what only a test does to topics.
func (b *testbed) admin() *kadm.Client {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.stack.broker.Address()))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(client.Close)
	return kadm.NewClient(client)
}

// awaitRecords waits until a topic has had a number of records.
func (b *testbed) awaitRecords(topic string, n int64) {
	b.t.Helper()
	admin, ctx := b.admin(), stand.Within(b.t, time.Minute)
	for {
		ends, err := admin.ListEndOffsets(ctx, topic)
		if err != nil {
			b.t.Fatal(err)
		}
		var sum int64
		ends.Each(func(o kadm.ListedOffset) { sum += o.Offset })
		if sum >= n {
			return
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("topic %s has had %d records, want %d", topic, sum, n)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// expire deletes all that is in a topic, as its retention does in time.
func (b *testbed) expire(topic string) {
	b.t.Helper()
	admin, ctx := b.admin(), stand.Within(b.t, time.Minute)
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := admin.DeleteRecords(ctx, ends.Offsets()); err != nil {
		b.t.Fatal(err)
	}
}

// deleteTopic deletes a topic and waits until the broker has forgotten it.
func (b *testbed) deleteTopic(topic string) {
	b.t.Helper()
	admin, ctx := b.admin(), stand.Within(b.t, time.Minute)
	if _, err := admin.DeleteTopics(ctx, topic); err != nil {
		b.t.Fatal(err)
	}
	for {
		left, err := admin.ListTopics(ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		if !left.Has(topic) {
			return
		}
		select {
		case <-ctx.Done():
			b.t.Fatalf("topic %s is still there", topic)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// awaitFreeSlot waits until nobody uses the slot.
func (b *testbed) awaitFreeSlot() {
	b.t.Helper()
	ctx := stand.Within(b.t, time.Minute)
	for {
		conn, err := pgx.Connect(ctx, b.url)
		if err != nil {
			b.t.Fatal(err)
		}
		active := false
		err = conn.QueryRow(ctx, "SELECT active FROM pg_replication_slots WHERE slot_name = $1", b.name).Scan(&active)
		_ = conn.Close(ctx)
		if err != nil {
			b.t.Fatal(err)
		}
		if !active {
			return
		}
		select {
		case <-ctx.Done():
			b.t.Fatal("the slot is still in use")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// removeConnector deletes the connector as an operator would.
func (b *testbed) removeConnector() {
	b.t.Helper()
	req, err := http.NewRequestWithContext(stand.Within(b.t, time.Minute), http.MethodDelete, b.stack.connect.URL()+"/connectors/"+b.name, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		b.t.Fatalf("delete the connector: status %s", resp.Status)
	}
}
