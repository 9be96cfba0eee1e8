package rig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/local/chengine"
	"github.com/freshet-io/freshet/local/kafka"
	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/local/platform"
	"github.com/freshet-io/freshet/local/process"
	"github.com/freshet-io/freshet/local/toolchain"
	"github.com/freshet-io/freshet/workload/ch"
)

// The cores of the two sides.
const (
	OLTPCore     = 0
	ColumnarCore = 1
)

// Config says what to set up. Cache, GatewayExecutable and EngineExecutable are needed.
type Config struct {
	Cache *toolchain.Cache
	// GatewayExecutable is freshet, EngineExecutable freshet-engine.
	GatewayExecutable, EngineExecutable string
	// Dir is the parent of the data; empty is the system's folder for temporary files.
	Dir string
	// Warehouses to load; Seed determines their data.
	Warehouses int
	Seed       uint64
	// Pin runs PostgreSQL on [OLTPCore], engine and gateway on [ColumnarCore].
	Pin bool
	// CDC is the way that changes take to the gateway; empty is direct.
	CDC platform.CDC
	// Prepare is run on PostgreSQL after loading, before the gateway starts.
	Prepare func(ctx context.Context, conn *pgx.Conn) error
	// EngineLog keeps the engine's log of queries, for their CPU time.
	EngineLog bool
	// Progress is told what is being done.
	Progress func(step string)
}

// Rig is a running set-up.
type Rig struct {
	Postgres *pgserver.Server
	Engine   *chengine.Server

	broker  *kafka.Broker  // nil without Kafka
	connect *kafka.Connect // likewise
	cfg     Config
	dir     string
	gateway *process.Process
	info    platform.GatewayInfo
}

// postgresSettings keep checkpoints, full-page writes and the vacuuming of large tables, which takes half a minute of a core, from
// falling into one phase and not another. A gateway that is suspended is not silent for wal_sender_timeout, which is not 0 because
// PostgreSQL looks for messages after every change then.
var postgresSettings = map[string]string{
	"shared_buffers": "1GB", "max_wal_size": "16GB", "checkpoint_timeout": "1h", "wal_sender_timeout": "1h",
	"max_connections": "200", "jit": "off", "autovacuum": "off",
}

// SettingsText tells the settings of PostgreSQL that differ from the local platform's.
func SettingsText() string {
	return "shared_buffers 1GB, max_wal_size 16GB, checkpoint_timeout 1h, jit off, fsync on, wal_level logical, autovacuum off (see docs/benchmarks.md)"
}

// Start sets everything up and returns when the replica holds all the data.
func Start(ctx context.Context, cfg Config) (_ *Rig, err error) {
	dir, err := os.MkdirTemp(cfg.Dir, "freshet-bench-")
	if err != nil {
		return nil, fmt.Errorf("set up benchmark: %w", err)
	}
	r := &Rig{cfg: cfg, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Stop(context.WithoutCancel(ctx)))
		}
	}()
	if err := os.Chmod(dir, 0o711); err != nil { // PostgreSQL's user must be able to pass
		return nil, err
	}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"starting PostgreSQL", r.startPostgres},
		{fmt.Sprintf("loading %d warehouses", cfg.Warehouses), r.load},
		{"starting the columnar engine", r.startEngine},
		{"starting what changes come by", r.startKafka},
		{"starting the gateway", r.startGateway},
		{"copying the data to the replica", r.awaitReady},
	} {
		r.progress(step.what)
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return r, nil
}

func (r *Rig) progress(step string) {
	if r.cfg.Progress != nil {
		r.cfg.Progress(step)
	}
}

func (r *Rig) cores(core int) []int {
	if !r.cfg.Pin {
		return nil
	}
	return []int{core}
}

func (r *Rig) startPostgres(ctx context.Context) error {
	home, err := r.cfg.Cache.Postgres(ctx)
	if err != nil {
		return err
	}
	r.Postgres, err = pgserver.New(pgserver.Config{
		Home: home, DataDir: filepath.Join(r.dir, "postgres"), Volatile: true, Settings: postgresSettings,
		Cores: r.cores(OLTPCore),
	})
	if err != nil {
		return err
	}
	return r.Postgres.Start(ctx)
}

func (r *Rig) load(ctx context.Context) error {
	if err := ch.Load(ctx, ch.LoadConfig{DSN: r.OLTP(), Warehouses: r.cfg.Warehouses, Seed: r.cfg.Seed}); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, r.OLTP())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if r.cfg.Prepare != nil {
		if err := r.cfg.Prepare(ctx, conn); err != nil {
			return err
		}
	}
	_, err = conn.Exec(ctx, "CHECKPOINT")
	return err
}

func (r *Rig) startEngine(ctx context.Context) error {
	library, err := r.cfg.Cache.Engine(ctx)
	if err != nil {
		return err
	}
	r.Engine, err = chengine.New(chengine.Config{
		Executable: r.cfg.EngineExecutable, Library: library, DataDir: filepath.Join(r.dir, "engine"),
		Cores: r.cores(ColumnarCore), QueryLog: r.cfg.EngineLog,
	})
	if err != nil {
		return err
	}
	return r.Engine.Start(ctx)
}

// startGateway starts the gateway's process and waits until its endpoint accepts connections.
func (r *Rig) startGateway(ctx context.Context) error {
	file := filepath.Join(r.dir, "gateway.json")
	data, err := json.Marshal(platform.GatewayConfig{
		Listen: "127.0.0.1:0", MonitorListen: "127.0.0.1:0", PostgresURL: r.Postgres.LocalURL("postgres"),
		EngineAddr: r.Engine.TCPAddr(), EngineUser: r.Engine.User, EnginePassword: r.Engine.Password,
		Kafka: r.transport(), TenantsFile: r.tenantsFile(),
	})
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return err
	}
	log, err := os.Create(r.gatewayLog())
	if err != nil {
		return err
	}
	defer log.Close()
	r.gateway, r.info, err = platform.LaunchGateway(ctx, process.Spec{
		Path: r.cfg.GatewayExecutable, Args: []string{"gateway", "--config", file}, Output: log, Cores: r.cores(ColumnarCore),
	})
	return err
}

func (r *Rig) gatewayLog() string { return filepath.Join(r.dir, "gateway.log") }

// Stop ends everything and removes the data.
func (r *Rig) Stop(ctx context.Context) error {
	var errs []error
	if r.gateway != nil {
		errs = append(errs, r.gateway.Signal(syscall.SIGCONT), r.gateway.Kill())
	}
	if r.connect != nil {
		errs = append(errs, r.connect.Kill())
	}
	if r.broker != nil {
		errs = append(errs, r.broker.Kill())
	}
	if r.Engine != nil {
		errs = append(errs, r.Engine.Kill())
	}
	if r.Postgres != nil {
		errs = append(errs, r.Postgres.Kill())
	}
	return errors.Join(append(errs, os.RemoveAll(r.dir))...)
}

// OLTP is the DSN of PostgreSQL itself.
func (r *Rig) OLTP() string { return r.Postgres.URL("postgres") }

// Endpoint is the DSN of the gateway's endpoint.
func (r *Rig) Endpoint() string {
	return fmt.Sprintf("postgres://%s:%s@%s/postgres?sslmode=disable", pgserver.Superuser, r.Postgres.Password(), r.info.Listen)
}

// Vacuum does what PostgreSQL would do by itself from time to time.
func (r *Rig) Vacuum(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, r.OLTP())
	if err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	return nil
}

// Suspend stops the gateway's process: PostgreSQL then runs as if without a change stream, except
// that it keeps the log for later.
func (r *Rig) Suspend() error { return r.gateway.Signal(syscall.SIGSTOP) }

// Resume lets a suspended gateway go on.
func (r *Rig) Resume() error { return r.gateway.Signal(syscall.SIGCONT) }
