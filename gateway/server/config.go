package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cockroachdb"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/replica"
	"github.com/freshet-io/freshet/gateway/analytics"
	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// Config says what a gateway connects. Listen, PostgresURL and EngineAddr are required.
type Config struct {
	// Listen is the endpoint's host:port; port 0 takes a free one.
	Listen string
	// MonitorListen is host:port of the HTTP port with /metrics, /healthz, /freshz, /readyz and /status; empty: none.
	MonitorListen string
	// TLS is offered to clients; nil: none.
	TLS *tls.Config
	// AllowPasswordless lets in clients whom PostgreSQL asks for no password, though it judges the gateway instead of
	// them; see [pgwire.Config].
	AllowPasswordless bool
	// Defaults are the settings of a session that sets none; nil: [pgwire.DefaultSettings].
	Defaults *pgwire.Settings

	// PostgresURL names the source database with a role that may replicate and owns the tables; with CockroachDB, a
	// role that may read the tables and see changefeeds.
	PostgresURL string
	// Kafka, when set, is where changes come from, by way of Debezium; nil: straight from PostgreSQL.
	Kafka *debezium.Transport
	// CockroachDB, when set, says that the source database is a CockroachDB, whose changes come by a changefeed. Kafka
	// and Slot are of no use then.
	CockroachDB *cockroachdb.Transport
	// Slot names the replication slot and publication; empty: "freshet".
	Slot string
	// SlotFailover makes the slot one that standbys keep a copy of; see [postgres.Config].
	SlotFailover bool
	// CopyConnections is how many connections copy tables at once, see [postgres.Config]; zero: its default.
	CopyConnections int
	// PlaceSender is given the database's processes that stream or copy for this gateway; see [postgres.Config].
	PlaceSender func(pid int) error
	// Include and Exclude select the tables, as patterns on schema.table; empty Include: "public.*".
	Include, Exclude []string

	// EngineAddr is host:port of the engine's native protocol.
	EngineAddr, EngineUser, EnginePassword string
	// EngineThreads bounds the threads of one query; zero: the engine's default.
	EngineThreads int

	// ReadyStaleness is the staleness above which /freshz fails, and /readyz; zero means five seconds.
	ReadyStaleness time.Duration
	// Peers is host:port of the monitoring ports of all gateways behind the same load balancer; the host has an address
	// for each. With it, /readyz of a stale gateway fails only while one of them is fresh. Empty: there are none.
	Peers string

	// Drain is how long clients have to leave by themselves when the gateway is asked to end, before their sessions are
	// ended with 57P01. Until then all is served as ever. Zero: their sessions are ended at once.
	Drain time.Duration
	// TenantsFile names the file of tenants, see [shares.File]; its changes are noticed. Empty, or no such file: one
	// tenant without limits.
	TenantsFile string

	Batch   batch.Config
	Route   analytics.Config
	Replica replica.Config // addresses and credentials are filled in
	Logger  *slog.Logger
	// Clock is injected by tests; nil: time.Now.
	Clock func() time.Time

	backend  *pgconn.Config // of PostgresURL
	database string
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Listen == "":
		return c, errors.New("configure gateway: Listen is empty; give host:port")
	case c.PostgresURL == "":
		return c, errors.New("configure gateway: PostgresURL is empty; give a connection string")
	case c.Kafka != nil && c.CockroachDB != nil:
		return c, errors.New("configure gateway: Kafka (Debezium) and CockroachDB are both set; give the one that the source database has")
	case c.EngineAddr == "":
		return c, errors.New("configure gateway: EngineAddr is empty; give host:port of the engine's native protocol")
	}
	if _, _, err := net.SplitHostPort(c.Peers); c.Peers != "" && err != nil {
		return c, fmt.Errorf("configure gateway: Peers: %w; give host:port", err)
	}
	if _, err := cdc.NewSelector(c.Include, c.Exclude); err != nil {
		return c, fmt.Errorf("configure gateway: %w", err)
	}
	if c.Slot == "" {
		c.Slot = "freshet"
	}
	if c.ReadyStaleness <= 0 {
		c.ReadyStaleness = 5 * time.Second
	}
	if c.Replica.FlushInterval == 0 { // whose epochs must not be rarer than readiness wants them
		c.Replica.FlushInterval = min(replica.DefaultFlushInterval, c.ReadyStaleness/4)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	c.Replica.Addr, c.Replica.User, c.Replica.Password = c.EngineAddr, c.EngineUser, c.EnginePassword
	c.Replica.Database = "freshet"
	source, err := pgconn.ParseConfig(c.PostgresURL)
	if err != nil {
		return c, fmt.Errorf("configure gateway: PostgresURL: %w", err)
	}
	c.backend, c.database = source, source.Database
	c.Route.Database = source.Database
	if c.CockroachDB != nil {
		c.Route.Dialect = translate.CockroachDB
	}
	return c, nil
}
