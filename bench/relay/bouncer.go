package relay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/bench/rig"
	"github.com/freshet-io/freshet/local/ports"
	"github.com/freshet-io/freshet/local/process"
)

// bouncer is a running PgBouncer in session mode, in front of a rig's PostgreSQL.
type bouncer struct {
	url  string
	dir  string
	proc *process.Process
}

// startLimit bounds PgBouncer's start.
const startLimit = 20 * time.Second

func startBouncer(ctx context.Context, r *rig.Rig, cfg rig.Config) (_ *bouncer, err error) {
	dir, err := os.MkdirTemp(cfg.Dir, "freshet-pgbouncer-")
	if err != nil {
		return nil, fmt.Errorf("start PgBouncer: %w", err)
	}
	b := &bouncer{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.stop())
		}
	}()
	// By the socket in the file system, as the gateway does.
	backend, err := pgconn.ParseConfig(r.Postgres.LocalURL("postgres"))
	if err != nil {
		return nil, fmt.Errorf("start PgBouncer: %w", err)
	}
	var port int // PgBouncer cannot choose one itself
	var reserved ports.Reservation
	if err := reserved.Reserve("PgBouncer", &port); err != nil {
		return nil, err
	}
	defer reserved.Release()
	owner, err := process.Unprivileged()
	if err != nil {
		return nil, fmt.Errorf("start PgBouncer, which refuses to run as root: %w", err)
	}
	ini := fmt.Sprintf(`[databases]
%s = host=%s port=%d user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = session
server_reset_query =
max_client_conn = 200
default_pool_size = 100
`, backend.Database, backend.Host, backend.Port, backend.User, backend.Password, port)
	file := filepath.Join(dir, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(ini), 0o600); err != nil {
		return nil, fmt.Errorf("start PgBouncer: %w", err)
	}
	if owner != nil {
		if err := errors.Join(os.Chown(dir, int(owner.Uid), int(owner.Gid)), os.Chown(file, int(owner.Uid), int(owner.Gid))); err != nil {
			return nil, fmt.Errorf("start PgBouncer: %w", err)
		}
	}
	var cores []int
	if cfg.Pin {
		cores = []int{rig.ColumnarCore}
	}
	b.url = fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", backend.User, port, backend.Database)
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		return nil, fmt.Errorf("start PgBouncer: %w", err)
	}
	if b.proc, err = process.Start(process.Spec{Path: path, Args: []string{"-q", file}, Cores: cores, Credential: owner}); err != nil {
		return nil, err
	}
	return b, b.await(ctx)
}

// await waits until PgBouncer relays a statement.
func (b *bouncer) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		conn, err := pgx.Connect(ctx, b.url)
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for PgBouncer: %w", err)
		}
	}
}

func (b *bouncer) stop() error {
	var err error
	if b.proc != nil {
		err = b.proc.Kill()
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}
