package rig

import (
	"context"
	"path/filepath"
	"time"

	"github.com/freshet-io/freshet/connectors/debezium"
	access "github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/local/kafka"
	"github.com/freshet-io/freshet/local/platform"
)

// PipelinePriority is added to the priority of broker and Kafka Connect, where the caller may do that. They go before the database and its
// clients: clients that are not held up make changes faster than what stands behind them in line passes on.
const PipelinePriority = -10

// startKafka starts a broker and Kafka Connect, where changes come over Kafka. They share PostgreSQL's core: on the other the
// engine, which stands back for all else, would get nothing (docs/transport-measured.md).
func (r *Rig) startKafka(ctx context.Context) error {
	if r.cfg.CDC != platform.Kafka {
		return nil
	}
	if err := kafka.CheckJava(ctx); err != nil {
		return err
	}
	jars, err := r.cfg.Cache.Kafka(ctx)
	if err != nil {
		return err
	}
	if r.broker, err = kafka.NewBroker(kafka.BrokerConfig{Jars: jars, DataDir: filepath.Join(r.dir, "kafka"), Cores: r.cores(OLTPCore), Nice: PipelinePriority}); err != nil {
		return err
	}
	if err := r.broker.Start(ctx); err != nil {
		return err
	}
	r.connect, err = kafka.NewConnect(kafka.ConnectConfig{
		Jars: jars, DataDir: filepath.Join(r.dir, "connect"), Brokers: r.broker.Address(), Cores: r.cores(OLTPCore), Nice: PipelinePriority,
	})
	if err != nil {
		return err
	}
	return r.connect.Start(ctx)
}

// transport is what the gateway has to know of Kafka; nil without it.
func (r *Rig) transport() *debezium.Transport {
	if r.cfg.CDC != platform.Kafka {
		return nil
	}
	return &debezium.Transport{
		Kafka: access.Config{Brokers: []string{r.broker.Address()}}, Connect: debezium.REST{URL: r.connect.URL()},
		Connector: debezium.Connector{DatabaseURL: r.OLTP()},
	}
}

// PipelineCPU returns the CPU time that the broker and Kafka Connect have used.
func (r *Rig) PipelineCPU() (broker, connect time.Duration, err error) {
	if broker, err = CPUOf(r.broker.PID()); err != nil {
		return 0, 0, err
	}
	connect, err = CPUOf(r.connect.PID())
	return broker, connect, err
}

// Staleness asks the gateway for the age of its newest snapshot; negative without one.
func (r *Rig) Staleness(ctx context.Context) (time.Duration, error) {
	rep, err := platform.ReadReplica(ctx, r.info.MonitorListen)
	if err != nil {
		return 0, err
	}
	return time.Duration(rep.StalenessMS * float64(time.Millisecond)), nil
}
