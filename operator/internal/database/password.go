package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/gateway/scram"
)

// SetPassword gives the role of both connections the password of next. It may be said again: where next is let in already, nothing is done.
func (PostgreSQL) SetPassword(ctx context.Context, now, next Connection) error {
	if conn, err := connect(ctx, next); err == nil {
		return conn.Close(ctx)
	}
	cfg, err := pgx.ParseConfig(next.URI)
	if err != nil {
		return fmt.Errorf("read the next connection string: %w", err)
	}
	// The server's log may have the statement: it must not have the password.
	verifier, err := scram.NewVerifier(cfg.Password)
	if err != nil {
		return err
	}
	conn, err := connect(ctx, now)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	_, err = conn.Exec(ctx, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", pgx.Identifier{cfg.User}.Sanitize(), verifier)) // base64, : and $
	return errors.Join(err, conn.Close(ctx))
}
