package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/debezium"
	access "github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/local/kafka"
)

// CDC is the way that changes take from PostgreSQL to the gateway.
type CDC string

// The ways. The empty CDC is that of the state folder; [Direct] for a new one.
const (
	// Direct is PostgreSQL's own logical replication.
	Direct CDC = "direct"
	// Kafka is Debezium in Kafka Connect, and a Kafka broker.
	Kafka CDC = "kafka"
)

// Check tells whether there is such a way; empty means the default.
func (c CDC) Check() error {
	switch c {
	case "", Direct, Kafka:
		return nil
	}
	return fmt.Errorf("unknown change stream %q: use --cdc=%s or --cdc=%s", string(c), Direct, Kafka)
}

// folderCDC is what the state folder's own file says.
type folderCDC struct {
	CDC CDC `json:"cdc"`
}

// resolveCDC returns the configuration with the way that the state folder's data take. It cannot change: replica,
// slot and topics belong together.
func (c Config) resolveCDC() (Config, error) {
	var has folderCDC
	err := readJSON(filepath.Join(c.Dir, cdcFile), &has,
		fmt.Sprintf(`write {"cdc": %q} or {"cdc": %q} into it, whichever the platform was made with`, Direct, Kafka))
	switch _, old := os.Stat(filepath.Join(c.Dir, postgresDir)); {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return c, err
	case err != nil && old == nil: // of a version that knew no other
		has.CDC = Direct
	}
	switch {
	case c.CDC == "" && has.CDC == "":
		c.CDC = Direct
	case c.CDC == "":
		c.CDC = has.CDC
	case has.CDC != "" && has.CDC != c.CDC:
		return c, fmt.Errorf("the platform in %s gets its changes with --cdc=%s: start it so, choose another folder with --dir, or delete it with freshet local reset", c.Dir, has.CDC)
	}
	return c, nil
}

// fetch makes sure that all tools are there that the configuration needs.
func (c Config) fetch(ctx context.Context) error {
	if c.CDC == Kafka {
		if err := kafka.CheckJava(ctx); err != nil {
			return fmt.Errorf("prepare --cdc=kafka: %w", err)
		}
	}
	fetches := []func(context.Context) (string, error){c.Cache.Postgres, c.Cache.Engine}
	if c.CDC == Kafka {
		fetches = append(fetches, c.Cache.Kafka)
	}
	for _, fetch := range fetches {
		if _, err := fetch(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Fetch makes sure that all tools are there that a platform of this configuration needs.
func Fetch(ctx context.Context, cfg Config) error {
	if err := cfg.CDC.Check(); err != nil {
		return err
	}
	return cfg.fetch(ctx)
}

// prepareKafka makes the broker's and the worker's objects.
func (s *supervisor) prepareKafka(ctx context.Context) error {
	if s.cfg.CDC != Kafka {
		return nil
	}
	jars, err := s.cfg.Cache.Kafka(ctx)
	if err != nil {
		return err
	}
	if s.broker, err = kafka.NewBroker(kafka.BrokerConfig{Jars: jars, DataDir: filepath.Join(s.cfg.Dir, brokerDir), Port: s.cfg.KafkaPort}); err != nil {
		return err
	}
	connect := filepath.Join(s.cfg.Dir, connectDir)
	switch _, err := os.Stat(connect); {
	case errors.Is(err, fs.ErrNotExist):
		s.kafkaMade = true
	case err != nil:
		return fmt.Errorf("find Kafka Connect's folder: %w", err)
	}
	s.connect, err = kafka.NewConnect(kafka.ConnectConfig{
		Jars: jars, DataDir: connect, Port: s.cfg.ConnectPort,
		BrokersOf: s.broker.Address, // which is known when that has started
	})
	return err
}

// startKafka starts the broker, and then the worker: no sooner than the database is ready, because the worker's folder tells the next start that there
// is no slot of a replica before.
func (s *supervisor) startKafka(ctx context.Context, databaseReady <-chan bool) error {
	if s.cfg.CDC != Kafka {
		return nil
	}
	if err := s.startServer(ctx, brokerName); err != nil {
		return err
	}
	if !<-databaseReady {
		return nil // which says why
	}
	return s.startServer(ctx, connectName)
}

// dropOldSlot drops the slot that a replica had which was reset: there are no topics that it could go on in, and it may be lost.
func (s *supervisor) dropOldSlot(ctx context.Context) error {
	if !s.kafkaMade {
		return nil
	}
	conn, err := pgx.Connect(ctx, s.postgres.URL(Database))
	if err != nil {
		return fmt.Errorf("connect to drop the slot of the replica before: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1 AND database = $2", postgres.DefaultSlot, Database); err != nil {
		return fmt.Errorf("drop slot %s of the replica before: %w; drop it by hand: SELECT pg_drop_replication_slot('%s')", postgres.DefaultSlot, err, postgres.DefaultSlot)
	}
	return nil
}

// transport returns what the gateway has to know of Kafka; nil without it.
func (s *supervisor) transport() (*debezium.Transport, error) {
	if s.cfg.CDC != Kafka {
		return nil, nil
	}
	// Kafka Connect tells the settings of connectors to whoever asks.
	password, err := s.connect.KeepSecret("database", s.postgres.Password())
	if err != nil {
		return nil, err
	}
	return &debezium.Transport{
		Kafka: access.Config{Brokers: []string{s.broker.Address()}}, Connect: debezium.REST{URL: s.connect.URL()},
		Connector: debezium.Connector{DatabaseURL: s.postgres.URL(Database), Settings: map[string]string{"database.password": password}},
	}, nil
}
