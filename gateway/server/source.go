package server

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cockroachdb"
	"github.com/freshet-io/freshet/connectors/debezium"
	"github.com/freshet-io/freshet/connectors/postgres"
)

// source is what a unit needs of the change stream that feeds it.
type source interface {
	cdc.Source
	// SystemID returns the identity of the database system.
	SystemID(ctx context.Context) (string, error)
	// Versions returns the versions that tables and views have now.
	Versions(ctx context.Context, ids []cdc.TableID) (map[cdc.TableID]string, error)
	// View returns the view that a name means in a list of schemas; nil if it means none, or no view.
	View(ctx context.Context, searchPath []string, name string) (*cdc.View, error)
	// Zone returns the offsets of a time zone over its span; nil where it does not tell.
	Zone(ctx context.Context, name string) ([]cdc.Offset, error)
	// Look has the catalog looked at soon: definitions may have changed.
	Look()
	Close()
}

// copyWaits says which transaction copies of the source's tables wait for; empty: none.
func copyWaits(s source) string {
	if w, ok := s.(interface{ CopyWaits() string }); ok {
		return w.CopyWaits()
	}
	return ""
}

// openSource returns the source that the configuration selects.
func openSource(cfg Config, registry prometheus.Registerer) (source, error) {
	database := postgres.Config{
		URL: cfg.PostgresURL, Slot: cfg.Slot, Failover: cfg.SlotFailover, CopyConnections: cfg.CopyConnections, Include: cfg.Include, Exclude: cfg.Exclude,
		PlaceSender: cfg.PlaceSender, Now: cfg.Clock, Logger: cfg.Logger, Registerer: registry,
	}
	switch {
	case cfg.CockroachDB != nil:
		return cfg.CockroachDB.Open(cfg.PostgresURL, cfg.Include, cfg.Exclude, cockroachdb.Config{Now: cfg.Clock, Logger: cfg.Logger, Registerer: registry})
	case cfg.Kafka != nil:
		return debezium.New(debezium.Config{Postgres: database, Transport: *cfg.Kafka, Logger: cfg.Logger, Registerer: registry})
	}
	return postgres.New(database)
}

// Pipeline is how what stands between the database and a gateway does; only a stream over Kafka has one.
type Pipeline struct {
	Transport string `json:"transport"` // kafka
	// Connector and Task are their states in Kafka Connect; empty where that is not known.
	Connector string `json:"connector,omitempty"`
	Task      string `json:"task,omitempty"`
	// LagRecords are messages in the topics that were not read yet, LagBytes is the log written since the newest transaction
	// that was handed over, SlotBytes the log that the database keeps for Kafka.
	LagRecords int64 `json:"lag_records"`
	LagBytes   int64 `json:"lag_bytes"`
	SlotBytes  int64 `json:"slot_bytes"`
	// Unknown says what could not be asked.
	Unknown string `json:"unknown,omitempty"`
	problem *cdc.TerminalError
}

// pipeline asks the source how its pipeline does; nil where there is none.
func (u *unit) pipeline(ctx context.Context) *Pipeline {
	i, err := u.get()
	if err != nil {
		return nil
	}
	kafka, ok := i.source.(*debezium.Source)
	if !ok {
		return nil
	}
	h := kafka.Health(ctx)
	p := &Pipeline{
		Transport: "kafka", Connector: h.Connector, Task: h.Task,
		LagRecords: h.LagRecords, LagBytes: h.LagBytes, SlotBytes: h.SlotBytes, problem: h.Problem,
	}
	if h.Unknown != nil {
		p.Unknown = fmt.Sprint(h.Unknown)
	}
	return p
}
