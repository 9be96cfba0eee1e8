package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cockroachdb"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/server"
)

// variable is an environment variable that configures a gateway in a container.
type variable struct {
	name, meaning string
	set           func(c *server.Config, value string) error
}

// variables are all of them but those of the Kafka transport and of TLS. An empty one counts as absent.
var variables = []variable{
	{"FRESHET_LISTEN", "host:port of the SQL endpoint; required", text(func(c *server.Config) *string { return &c.Listen })},
	{"FRESHET_MONITOR_LISTEN", "host:port of /metrics, /healthz, /freshz, /readyz and /status", text(func(c *server.Config) *string { return &c.MonitorListen })},
	{"FRESHET_POSTGRES_URL", "connection string of the database; required", text(func(c *server.Config) *string { return &c.PostgresURL })},
	{"FRESHET_ALLOW_PASSWORDLESS", "true: let in clients whom the database asks for no password, though it judges the gateway instead of them", truth(func(c *server.Config) *bool { return &c.AllowPasswordless })},
	{"FRESHET_SLOT", "name of the replication slot and publication, freshet unless given", text(func(c *server.Config) *string { return &c.Slot })},
	{"FRESHET_SLOT_FAILOVER", "true: the slot is one that standbys keep a copy of, from PostgreSQL 17 on", truth(func(c *server.Config) *bool { return &c.SlotFailover })},
	{"FRESHET_COPY_CONNECTIONS", "how many connections to the database copy tables at once, 4 unless given", number(func(c *server.Config) *int { return &c.CopyConnections })},
	{"FRESHET_INCLUDE", "patterns of the tables to replicate, separated by commas, public.* unless given", list(func(c *server.Config) *[]string { return &c.Include })},
	{"FRESHET_EXCLUDE", "patterns of the tables to leave out, separated by commas", list(func(c *server.Config) *[]string { return &c.Exclude })},
	{"FRESHET_ENGINE_ADDR", "host:port of the columnar engine's native protocol; required", text(func(c *server.Config) *string { return &c.EngineAddr })},
	{"FRESHET_ENGINE_USER", "the engine's user", text(func(c *server.Config) *string { return &c.EngineUser })},
	{"FRESHET_ENGINE_PASSWORD", "the engine's password", text(func(c *server.Config) *string { return &c.EnginePassword })},
	{"FRESHET_ENGINE_THREADS", "bound of the threads of one query, the engine's own unless given", number(func(c *server.Config) *int { return &c.EngineThreads })},
	{"FRESHET_READY_STALENESS", "staleness above which /freshz fails, and /readyz, 5s unless given", duration(func(c *server.Config) *time.Duration { return &c.ReadyStaleness })},
	{"FRESHET_PEERS", "host:port of the monitoring ports of all gateways behind the same load balancer: a stale one stays while none is fresh", text(func(c *server.Config) *string { return &c.Peers })},
	{"FRESHET_DRAIN", "how long clients have to leave by themselves when the gateway is asked to end, none unless given", duration(func(c *server.Config) *time.Duration { return &c.Drain })},
	{"FRESHET_TENANTS_FILE", "file of tenants, in YAML or JSON; its changes are noticed", text(func(c *server.Config) *string { return &c.TenantsFile })},
	{"FRESHET_DEFAULT_FRESHNESS", "freshet.freshness of a session that sets none", mode},
	{"FRESHET_DEFAULT_MAX_STALENESS", "freshet.max_staleness of a session that sets none, 1s unless given; 0s is strong", bound},
}

const (
	certFileVariable = "FRESHET_TLS_CERT_FILE"
	keyFileVariable  = "FRESHET_TLS_KEY_FILE"
)

// gatewayFromEnvironment reads the configuration of a gateway in a container.
func gatewayFromEnvironment(lookup func(string) (string, bool)) (server.Config, error) {
	var cfg server.Config
	if err := sourceFromEnvironment(&cfg, lookup); err != nil {
		return cfg, err
	}
	for _, v := range variables {
		value, _ := lookup(v.name)
		if value == "" {
			continue
		}
		if err := v.set(&cfg, value); err != nil {
			return cfg, fmt.Errorf("read %s=%q: %w", v.name, value, err)
		}
	}
	for _, required := range []struct{ value, name, what string }{
		{cfg.Listen, "FRESHET_LISTEN", "host:port of the SQL endpoint"},
		{cfg.PostgresURL, "FRESHET_POSTGRES_URL", "the database's connection string"},
		{cfg.EngineAddr, "FRESHET_ENGINE_ADDR", "host:port of the columnar engine's native protocol"},
	} {
		if required.value == "" {
			return cfg, fmt.Errorf("read the gateway's configuration: %s is not set; give it %s (freshet gateway --help has all variables)", required.name, required.what)
		}
	}
	cert, _ := lookup(certFileVariable)
	key, _ := lookup(keyFileVariable)
	if (cert == "") != (key == "") {
		return cfg, fmt.Errorf("read the endpoint's certificate: %s and %s belong together; give both or none", certFileVariable, keyFileVariable)
	}
	if cert == "" {
		return cfg, nil
	}
	var err error
	cfg.TLS, err = pgwire.LoadTLS(cert, key)
	return cfg, err
}

// environmentHelp describes the variables, one a line.
func environmentHelp() string {
	var b strings.Builder
	for _, v := range variables {
		fmt.Fprintf(&b, "  %-30s %s\n", v.name, v.meaning)
	}
	fmt.Fprintf(&b, "  %-30s postgresql (unless given) or cockroachdb\n", sourceVariable)
	fmt.Fprintf(&b, "  %-30s certificate of the endpoint, PEM; unless given, a self-signed one is made, but on a loopback address clients get no TLS\n", certFileVariable)
	fmt.Fprintf(&b, "  %-30s its key, PEM", keyFileVariable)
	return b.String()
}

// sourceVariable names the kind of the source database.
const sourceVariable = "FRESHET_SOURCE"

// sourceFromEnvironment sets how changes come.
func sourceFromEnvironment(cfg *server.Config, lookup func(string) (string, bool)) error {
	switch source, _ := lookup(sourceVariable); source {
	case "", "postgresql":
		cfg.Kafka = kafkaFromEnvironment(lookup)
	case "cockroachdb":
		cfg.CockroachDB = cockroachdb.TransportFromEnvironment(lookup)
	default:
		return fmt.Errorf("read %s=%q: use postgresql or cockroachdb", sourceVariable, source)
	}
	return nil
}

// kafkaFromEnvironment returns where changes come from over Kafka; nil: they come straight from the database.
func kafkaFromEnvironment(lookup func(string) (string, bool)) *debezium.Transport {
	t := debezium.Transport{Kafka: kafka.FromEnvironment("FRESHET_KAFKA_", lookup), Connect: debezium.RESTFromEnvironment("FRESHET_CONNECT_", lookup)}
	if len(t.Kafka.Brokers) == 0 {
		return nil
	}
	t.Prefix, _ = lookup("FRESHET_KAFKA_PREFIX")
	t.Connector.DatabaseURL, _ = lookup("FRESHET_CONNECT_DATABASE_URL")
	t.Connector.ManagedAs, _ = lookup("FRESHET_CONNECT_MANAGED_AS")
	return &t
}

func text(field func(*server.Config) *string) func(*server.Config, string) error {
	return func(c *server.Config, value string) error {
		*field(c) = value
		return nil
	}
}

func list(field func(*server.Config) *[]string) func(*server.Config, string) error {
	return func(c *server.Config, value string) error {
		for item := range strings.SplitSeq(value, ",") {
			*field(c) = append(*field(c), strings.TrimSpace(item))
		}
		return nil
	}
}

func number(field func(*server.Config) *int) func(*server.Config, string) error {
	return func(c *server.Config, value string) error {
		n, err := strconv.Atoi(value)
		if err == nil && n < 0 {
			err = errors.New("a number is needed that is not negative")
		}
		*field(c) = n
		return err
	}
}

func truth(field func(*server.Config) *bool) func(*server.Config, string) error {
	return func(c *server.Config, value string) (err error) {
		*field(c), err = strconv.ParseBool(value)
		return err
	}
}

func duration(field func(*server.Config) *time.Duration) func(*server.Config, string) error {
	return func(c *server.Config, value string) error {
		d, err := time.ParseDuration(value)
		if err == nil && d <= 0 {
			err = errors.New("a positive duration is needed")
		}
		*field(c) = d
		return err
	}
}

func mode(c *server.Config, value string) (err error) {
	defaults(c).Freshness, err = freshness.ParseMode(value)
	return err
}

// bound reads the bound of staleness, which may be zero.
func bound(c *server.Config, value string) error {
	d, err := time.ParseDuration(value)
	if err == nil && d < 0 {
		err = errors.New("a duration is needed that is not negative")
	}
	defaults(c).MaxStaleness = d
	return err
}

// defaults returns the settings of sessions that set none, for one of them to be set.
func defaults(c *server.Config) *pgwire.Settings {
	if c.Defaults == nil {
		d := pgwire.DefaultSettings()
		c.Defaults = &d
	}
	return c.Defaults
}
