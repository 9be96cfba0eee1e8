package debezium

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/jsonrow"
	"github.com/freshet-io/freshet/connectors/postgres"
)

// Source is a PostgreSQL database's change stream through Debezium and Kafka. Its methods
// are safe for concurrent use, but only one Stream runs at a time.
type Source struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	pg      *postgres.Source
	catalog postgres.Companion
	admin   *kadm.Client
	kafka   *kgo.Client // the admin's
	connect *connectClient

	streaming atomic.Bool
	// fingerprint is the catalog's that the definitions are in line with.
	following   sync.Mutex
	fingerprint string
	misfits     jsonrow.Misfits
	topicsThere atomic.Pointer[[]string] // as refuse has seen them last
	// wanted is the highest position that Current has promised; wake tells the pulse of it.
	wanted atomic.Uint64
	// streamed is the position that was handed over last, lag the messages not read yet, problem what waits for a person.
	streamed atomic.Uint64
	lag      atomic.Int64
	problem  atomic.Pointer[cdc.TerminalError]
	wake     chan struct{}
}

var (
	_ cdc.Source     = (*Source)(nil)
	_ cdc.Bookmarker = (*Source)(nil)
)

// New returns a source. It does not connect yet.
func New(cfg Config) (*Source, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("register source metrics: %w", err)
	}
	s := &Source{cfg: cfg, log: cfg.Logger, metrics: m, wake: make(chan struct{}, 1)}
	cfg.Postgres.Refuse = s.refuse
	if s.pg, err = postgres.New(cfg.Postgres); err != nil {
		return nil, err
	}
	s.catalog = s.pg.Companion()
	if s.kafka, err = s.newClient(); err == nil && cfg.Connect.URL != "" {
		s.connect, err = newConnectClient(cfg.Connect)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.admin = kadm.NewClient(s.kafka)
	return s, nil
}

// newClient returns a client of the brokers.
func (s *Source) newClient(options ...kgo.Opt) (*kgo.Client, error) {
	reach, err := s.cfg.Kafka.Options()
	if err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	client, err := kgo.NewClient(append(reach, options...)...)
	if err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	return client, nil
}

// Close releases the connections. Streams and copies must have ended.
func (s *Source) Close() {
	if s.kafka != nil {
		s.kafka.Close()
	}
	if s.connect != nil {
		s.connect.close()
	}
	s.pg.Close()
}

// SystemID returns the identity of the database system, which no other PostgreSQL cluster has.
func (s *Source) SystemID(ctx context.Context) (string, error) { return s.pg.SystemID(ctx) }

// Look has the watcher look at the catalog soon, where definitions may have changed.
func (s *Source) Look() { s.pg.Look() }

// CopyWaits says which transaction a copy waits for, as [postgres.Source.CopyWaits] does.
func (s *Source) CopyWaits() string { return s.pg.CopyWaits() }

// Versions returns the present versions of tables, as [postgres.Source.Versions] does.
func (s *Source) Versions(ctx context.Context, ids []cdc.TableID) (map[cdc.TableID]string, error) {
	return s.pg.Versions(ctx, ids)
}

// View returns the view that a name means in a list of schemas; nil if it means none, or no view.
func (s *Source) View(ctx context.Context, searchPath []string, name string) (*cdc.View, error) {
	return s.pg.View(ctx, searchPath, name)
}

// Zone returns the offsets of a time zone as the server knows them.
func (s *Source) Zone(ctx context.Context, name string) ([]cdc.Offset, error) {
	return s.pg.Zone(ctx, name)
}

// Tables implements [cdc.Source]. It prepares publication and slot, and topics and connector where it is to.
//
// It waits until the connector has delivered something: a position is one to resume from only if the topics have an END
// before it, also the position of a database without tables.
//
// It creates no slot where the topics have a history already: the new slot would leave a gap in it that nobody could see.
func (s *Source) Tables(ctx context.Context) ([]cdc.Discovered, error) {
	fresh, err := s.checkHistory(ctx)
	if err != nil {
		return nil, err
	}
	if fresh && s.connect != nil {
		if err := s.forgetProgress(ctx); err != nil {
			return nil, err
		}
	}
	found, err := s.pg.Tables(ctx)
	if err != nil {
		return nil, err
	}
	if s.connect != nil {
		if err := s.prepareConnector(ctx, found); err != nil {
			return nil, err
		}
	}
	if err := s.awaitHistory(ctx); err != nil {
		return nil, err
	}
	return found, nil
}

// checkHistory makes sure that a slot which does not exist has no topics yet, and reports whether there is neither.
func (s *Source) checkHistory(ctx context.Context) (fresh bool, err error) {
	slot, err := s.pg.SlotStatus(ctx)
	if err != nil || slot.Exists {
		return false, err
	}
	h, err := s.openHistory(ctx)
	if err != nil {
		return false, err
	}
	defer h.close()
	if h.end == 0 {
		return true, nil
	}
	return false, s.slotLost()
}

// forgetProgress deletes what Kafka Connect recorded for a connector of this name with another slot, before the slot is created:
// the connector would refuse to begin with the new one.
func (s *Source) forgetProgress(ctx context.Context) error {
	if s.managed() {
		return s.forgetManaged(ctx)
	}
	settings, err := s.cfg.connectorSettings()
	if err != nil {
		return err
	}
	return s.connect.forget(ctx, s.cfg.Prefix, settings)
}

// managed reports whether somebody else keeps the connector.
func (s *Source) managed() bool { return s.cfg.Connector.ManagedAs != "" }

// forgetManaged waits until the connector, whose slot is missing, is stopped, and deletes what Kafka Connect recorded for it. To stop it here would be undone.
func (s *Source) forgetManaged(ctx context.Context) error {
	name := s.cfg.connectorName()
	ctx, cancel := context.WithTimeoutCause(ctx, s.cfg.StartWait, fmt.Errorf("it is not there, or not stopped, after %s; see who keeps it, and its status in Kafka Connect", s.cfg.StartWait))
	defer cancel()
	if err := s.connect.awaitStopped(ctx, name); err != nil {
		return err
	}
	return s.connect.forget(ctx, name, nil)
}

// register gives Kafka Connect the connector as the settings say, unless it has it so, or somebody else keeps it.
func (s *Source) register(ctx context.Context) error {
	if s.managed() {
		return nil
	}
	wanted, err := s.cfg.connectorSettings()
	if err != nil {
		return err
	}
	changed, err := s.connect.register(ctx, s.cfg.Prefix, wanted)
	if err != nil {
		return err
	}
	if changed {
		s.log.Info("registered connector", "connector", s.cfg.Prefix)
	}
	return s.connect.resume(ctx, s.cfg.Prefix)
}

// ConnectorStatus asks Kafka Connect for the connector's state; the zero status means that it is not registered.
func (s *Source) ConnectorStatus(ctx context.Context) (ConnectorStatus, error) {
	if s.connect == nil {
		return ConnectorStatus{}, errors.New("ask for the connector's status: no address of Kafka Connect is configured")
	}
	return s.connect.status(ctx, s.cfg.connectorName())
}

// Copy implements [cdc.Source].
func (s *Source) Copy(ctx context.Context, tables []cdc.TableID, sink cdc.CopySink) (cdc.Position, error) {
	return s.pg.Copy(ctx, tables, copySink{sink, s})
}

// copySink notes at which positions copies begin.
type copySink struct {
	cdc.CopySink
	s *Source
}

// Begin implements [cdc.CopySink].
func (c copySink) Begin(ctx context.Context, at cdc.Position, tables []*cdc.Table) error {
	for _, t := range tables {
		if c.s.misfits.Begun(t.ID, at) {
			c.s.catalog.CopyAnew(t.ID)
		}
	}
	return c.CopySink.Begin(ctx, at, tables)
}

// Current implements [cdc.Source]. Callers that come while another's question is under way share one.
func (s *Source) Current(ctx context.Context) (cdc.Position, error) {
	w, err := s.catalog.ReadLog(ctx)
	if err != nil {
		return cdc.Position{}, err
	}
	raise(&s.wanted, w.Inserted.Major)
	select {
	case s.wake <- struct{}{}:
	default: // the pulse has been told already
	}
	return w.Inserted, nil
}

// Confirm implements [cdc.Source]. The slot follows what Debezium has delivered to Kafka, and the topics keep
// their retention, whatever one of their readers holds.
func (s *Source) Confirm(p cdc.Position) { s.metrics.confirmed.Set(float64(p.Major)) }

// Remove deletes what the source created: the connector, its topics, the slot and the publication. The stream must
// have ended, and a connector that somebody else keeps must be gone. What is not there is no error.
func (s *Source) Remove(ctx context.Context) error {
	if s.connect != nil && !s.managed() {
		if err := s.connect.remove(ctx, s.cfg.Prefix); err != nil {
			return err
		}
	}
	if err := removeTopics(ctx, s.admin, s.cfg.Prefix); err != nil {
		return err
	}
	return s.pg.DropSlotAndPublication(ctx)
}

// follow brings definitions and publication in line with the catalog.
func (s *Source) follow(ctx context.Context) error {
	s.following.Lock()
	defer s.following.Unlock()
	now, err := s.catalog.FollowCatalog(ctx, s.fingerprint)
	s.fingerprint = now
	return err
}

func (s *Source) spoolDir() string {
	if s.cfg.SpoolDir != "" {
		return s.cfg.SpoolDir
	}
	return os.TempDir()
}

// raise sets v to at least n.
func raise(v *atomic.Uint64, n uint64) {
	for {
		old := v.Load()
		if n <= old || v.CompareAndSwap(old, n) {
			return
		}
	}
}
