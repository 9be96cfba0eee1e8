package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/freshet-io/freshet/connectors/dial"
)

// verifiers reads the roles' SCRAM verifiers from the database, by which clients that use TLS log in where the database
// does too.
type verifiers struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	once sync.Once // to tell that they cannot be read
}

// openVerifiers returns nil where the database is reached without TLS: logins are relayed then.
func openVerifiers(ctx context.Context, cfg Config) (*verifiers, error) {
	if cfg.backend.TLSConfig == nil {
		return nil, nil
	}
	access, err := pgxpool.ParseConfig(cfg.PostgresURL)
	if err != nil {
		return nil, fmt.Errorf("configure gateway: PostgresURL: %w", err)
	}
	access.MinConns, access.MinIdleConns, access.MaxConns, access.MaxConnIdleTime = 0, 0, 2, time.Minute
	dial.GuardPool(access)
	access.ConnConfig.RuntimeParams["application_name"] = "freshet gateway: logins"
	access.ConnConfig.RuntimeParams["search_path"] = "pg_catalog" // this role may do more than who could put operators of their own elsewhere
	pool, err := pgxpool.NewWithConfig(ctx, access)
	if err != nil {
		return nil, fmt.Errorf("configure gateway: PostgresURL: %w", err)
	}
	return &verifiers{pool: pool, log: cfg.Logger}, nil
}

func (v *verifiers) close() {
	if v != nil {
		v.pool.Close()
	}
}

// read is [pgwire.Config.Verifier].
func (v *verifiers) read(ctx context.Context, role string) (string, error) {
	var verifier string
	err := v.pool.QueryRow(ctx, "SELECT coalesce(rolpassword, '') FROM pg_catalog.pg_authid WHERE rolname = $1", role).Scan(&verifier)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
		v.once.Do(func() {
			v.log.Info("clients that use TLS must log in with channel_binding=disable: the gateway's role cannot read SCRAM verifiers", "reason", refusal.Message,
				"remedy", "GRANT SELECT (rolname, rolpassword) ON pg_catalog.pg_authid to it, in the database that it connects to")
		})
	}
	return verifier, err
}
