package platform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/freshet-io/freshet/local/chengine"
	"github.com/freshet-io/freshet/local/kafka"
	"github.com/freshet-io/freshet/local/pgserver"
	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
)

// startLimit and stopLimit bound the start and the end of one server. Java programs start slowly on a busy machine, and
// PostgreSQL's start is not bounded.
const (
	startLimit      = 60 * time.Second
	kafkaStartLimit = 3 * time.Minute
	stopLimit       = 30 * time.Second
)

// server is what the supervisor needs of each of its servers.
type server interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
	Kill() error
	Done() <-chan struct{}
	Identity() process.Identity
	LogFile() string
}

// Platform is a running platform, as [Run] hands it to its caller.
type Platform struct {
	// URL is the user's connection string for the endpoint, DirectURL the one for PostgreSQL itself.
	URL, DirectURL string
	// Monitor is host:port of /metrics, /readyz and /status.
	Monitor string
}

// supervisor runs the servers of one state folder.
type supervisor struct {
	cfg     Config
	secrets Credentials
	// secretsMade says that the state folder had no credentials.
	secretsMade bool
	postgres    *pgserver.Server
	engine      *chengine.Server
	broker      *kafka.Broker  // nil without Kafka
	connect     *kafka.Connect // likewise
	kafkaMade   bool           // the state folder had nothing of Kafka Connect
	gateway     *gateway

	// startLimit is the constant of this name, but in tests.
	startLimit time.Duration

	mu    sync.Mutex
	state State // what the state file says
}

// Run starts a platform, calls ready once its endpoint accepts connections, restarts servers that end, and stops
// everything when ctx ends. It returns nil then, and [ErrHeld] where another supervisor works on the folder.
// Progress is told as it starts; nil is silent.
func Run(ctx context.Context, cfg Config, progress func(string), ready func(Platform)) error {
	cfg, err := cfg.complete()
	if err != nil {
		return err
	}
	if progress == nil {
		progress = func(string) {}
	}
	// PostgreSQL's user must be able to pass; the files inside are closed one by one.
	if err := os.MkdirAll(cfg.Dir, 0o711); err != nil {
		return fmt.Errorf("create state folder: %w", err)
	}
	lock, err := hold(cfg.Dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	return run(ctx, cfg, progress, ready)
}

// run is Run with a complete configuration, by whoever holds the lock on the state folder.
func run(ctx context.Context, cfg Config, progress func(string), ready func(Platform)) (err error) {
	s := &supervisor{cfg: cfg, startLimit: startLimit}
	if err := s.endLeftovers(); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, s.stop())
	}()
	if err := s.start(ctx, progress); err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop before it was up
		}
		return err
	}
	ready(s.platform())
	s.supervise(ctx)
	return nil
}

// prepare makes the servers' objects.
func (s *supervisor) prepare(ctx context.Context) (err error) {
	if s.cfg, err = s.cfg.resolveCDC(); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(s.cfg.Dir, cdcFile), folderCDC{s.cfg.CDC}); err != nil {
		return err
	}
	home, err := s.cfg.Cache.Postgres(ctx)
	if err != nil {
		return err
	}
	library, err := s.cfg.Cache.Engine(ctx)
	if err != nil {
		return err
	}
	if s.secrets, s.secretsMade, err = credentials(s.cfg.Dir); err != nil {
		return err
	}
	s.gateway = newGateway(s.cfg.GatewayExecutable, s.cfg.Dir)
	if err := s.gateway.reserve(s.cfg.Port, s.cfg.MonitorPort); err != nil {
		return err
	}
	oltp, columnar := s.cfg.cores()
	s.postgres, err = pgserver.New(pgserver.Config{
		Home: home, DataDir: filepath.Join(s.cfg.Dir, postgresDir), Port: s.cfg.PostgresPort, Cores: oltp,
		Volatile: s.cfg.Volatile,
	})
	if err != nil {
		return err
	}
	s.engine, err = chengine.New(chengine.Config{
		Executable: s.cfg.EngineExecutable, Library: library, DataDir: filepath.Join(s.cfg.Dir, engineDir),
		HTTPPort: s.cfg.EngineHTTPPort, TCPPort: s.cfg.EnginePort, Password: s.secrets.EnginePassword,
		MaxMemory: s.engineMemory(), Cores: columnar,
	})
	if err != nil {
		return err
	}
	if err := s.prepareKafka(ctx); err != nil {
		return err
	}
	s.gateway.cores = columnar
	me, err := process.Identify(os.Getpid())
	if err != nil {
		return err
	}
	s.state = State{Phase: Starting, Supervisor: me}
	return s.save()
}

// start starts everything. PostgreSQL and the engine start side by side.
func (s *supervisor) start(ctx context.Context, progress func(string)) error {
	if s.cfg.CDC == Kafka {
		progress("starting PostgreSQL, the columnar engine, Kafka and Kafka Connect")
	} else {
		progress("starting PostgreSQL and the columnar engine")
	}
	var pgErr, engineErr, kafkaErr error
	var wg sync.WaitGroup
	databaseReady := make(chan bool, 1)
	wg.Go(func() { kafkaErr = s.startKafka(ctx, databaseReady) })
	wg.Go(func() { engineErr = s.startServer(ctx, engineName) })
	wg.Go(func() {
		pgErr = s.startServer(ctx, postgresName)
		if pgErr == nil {
			pgErr = namePassword(bootstrap(ctx, s.postgres.URL("postgres"), s.secrets, s.secretsMade), s.postgres.PasswordFile())
		}
		if pgErr == nil && s.secretsMade {
			pgErr = writeJSON(filepath.Join(s.cfg.Dir, credentialsFile), s.secrets)
		}
		if pgErr == nil {
			pgErr = s.dropOldSlot(ctx)
		}
		databaseReady <- pgErr == nil
	})
	wg.Wait()
	if err := errors.Join(flagged(pgErr, "--postgres-port"), flagged(engineErr, "--engine-port, --engine-http-port"),
		flagged(kafkaErr, "--kafka-port, --connect-port")); err != nil {
		return err
	}
	transport, err := s.transport()
	if err != nil {
		return err
	}
	progress("starting the gateway")
	s.gateway.cfg = GatewayConfig{
		Listen: ports.Address(s.gateway.port), MonitorListen: ports.Address(s.gateway.monitorPort),
		PostgresURL: s.postgres.LocalURL(Database), EngineAddr: s.engine.TCPAddr(), EngineUser: s.engine.User, EnginePassword: s.engine.Password,
		Include: s.cfg.Include, Exclude: s.cfg.Exclude, Kafka: transport,
	}
	if s.cfg.PinDecoding {
		s.gateway.cfg.SenderCores = s.gateway.cores
	}
	if err := s.startServer(ctx, gatewayName); err != nil {
		return err
	}
	s.mu.Lock()
	s.state.Phase, s.state.Endpoint, s.state.Monitor = Running, s.gateway.info.Listen, s.gateway.info.MonitorListen
	s.mu.Unlock()
	return s.save()
}

// stop ends the servers in the reverse order, each in order if it can be.
func (s *supervisor) stop() error {
	s.mu.Lock()
	s.state.Phase = Stopping
	s.mu.Unlock()
	problems := []error{s.save()}
	for _, name := range slices.Backward(s.servers()) {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		problems = append(problems, s.server(name).Stop(ctx))
		cancel()
	}
	s.mu.Lock()
	s.state = State{Phase: Stopped}
	s.mu.Unlock()
	return errors.Join(append(problems, s.save())...)
}

func (s *supervisor) platform() Platform {
	return Platform{
		URL:       s.secrets.URL(s.gateway.info.Listen),
		DirectURL: s.secrets.URL(s.postgres.Addr()),
		Monitor:   s.gateway.info.MonitorListen,
	}
}

// save writes the state file.
func (s *supervisor) save() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return writeJSON(filepath.Join(s.cfg.Dir, stateFile), s.state)
}

// flagged adds the flags that choose a server's ports to an error about one that is taken.
func flagged(err error, flags string) error {
	if _, ok := errors.AsType[*ports.TakenError](err); ok {
		return fmt.Errorf("%w (%s)", err, flags)
	}
	return err
}
