package database

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/dial"
	"github.com/freshet-io/freshet/operator/internal/lack"
)

// Connection says how to reach a database.
type Connection struct {
	// URI is a connection string.
	URI string
	// CA are the certificates that the server's is verified by, PEM; empty: the system's.
	CA []byte
	// Certificate, PEM, is what a server of the operator's own has in its file: it is told to load it while it shows another. Empty: the
	// server is somebody else's.
	Certificate []byte
	// Archives says that the server is to archive its log.
	Archives bool
}

// Reasons for which a connection cannot be used; they are reasons of the condition OLTPReady.
const (
	ReasonInvalidConnection    = "InvalidConnection"
	ReasonUnreachable          = "DatabaseUnreachable"
	ReasonAuthenticationFailed = "AuthenticationFailed"
	ReasonDatabaseNotFound     = "DatabaseNotFound"
	ReasonTooManyConnections   = "TooManyConnections"
)

// Refuses says that a lack is one of the connection: nobody gets in by it.
func Refuses(l *lack.Lack) bool {
	return slices.Contains([]string{
		ReasonInvalidConnection, ReasonUnreachable, ReasonAuthenticationFailed, ReasonDatabaseNotFound, ReasonTooManyConnections,
	}, l.Reason)
}

// limit bounds how long the operator waits for a database: for a connection, and for the end of each statement.
const limit = 5 * time.Second

// connect opens a connection. Where that fails for a reason that a person can do something about, it comes as *lack.Lack.
func connect(ctx context.Context, c Connection) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(c.URI)
	if err != nil {
		return nil, &lack.Lack{Reason: ReasonInvalidConnection, Detail: "the connection string cannot be read: " + err.Error(), // without the password: pgconn hides it
			Remedy: "write it as postgresql://user:password@host:port/database"}
	}
	if len(c.CA) > 0 {
		if err := trust(cfg, c.CA); err != nil {
			return nil, err
		}
	}
	cfg.ConnectTimeout = limit
	cfg.RuntimeParams["application_name"] = "freshet operator"
	cfg.RuntimeParams["search_path"] = "pg_catalog"
	cfg.RuntimeParams["statement_timeout"] = fmt.Sprint(limit.Milliseconds())
	dial.Bound(cfg, limit+time.Second) // a server that hangs keeps no limit
	conn, err := pgx.ConnectConfig(ctx, cfg)
	var refusal *pgconn.PgError
	switch {
	case err == nil:
		return conn, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &refusal) && (refusal.Code == "28P01" || refusal.Code == "28000"):
		return nil, &lack.Lack{Reason: ReasonAuthenticationFailed, Detail: refusal.Message,
			Remedy: "correct user and password in the connection Secret, or pg_hba.conf"}
	case errors.As(err, &refusal) && refusal.Code == "3D000":
		return nil, &lack.Lack{Reason: ReasonDatabaseNotFound, Detail: refusal.Message,
			Remedy: "create it, or correct the name in the connection Secret"}
	case errors.As(err, &refusal) && refusal.Code == "53300":
		return nil, &lack.Lack{Reason: ReasonTooManyConnections, Detail: refusal.Message,
			Remedy: "raise max_connections and restart the server, or the role's CONNECTION LIMIT, or close connections that are not used"}
	case errors.As(err, &refusal):
		return nil, &lack.Lack{Reason: ReasonUnreachable, Detail: fmt.Sprintf("%s:%d refuses connections: %s", cfg.Host, cfg.Port, refusal.Message),
			Remedy: "see the server's log"}
	default:
		return nil, &lack.Lack{Reason: ReasonUnreachable, Detail: fmt.Sprintf("%s:%d does not accept a connection", cfg.Host, cfg.Port),
			Remedy: "see that it runs, that its address in the connection Secret is right, and that no NetworkPolicy or certificate is in the way"}
	}
}

// silent is what a server lacks that lets clients in and then does not answer.
func silent(cfg *pgx.ConnConfig) *lack.Lack {
	return &lack.Lack{Reason: ReasonUnreachable, Detail: fmt.Sprintf("%s:%d accepts connections and does not answer", cfg.Host, cfg.Port),
		Remedy: "see that its processes and its node run, and are not suspended"}
}

// trust makes the certificates in ca the only ones that vouch for the server.
func trust(cfg *pgx.ConnConfig, ca []byte) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return &lack.Lack{Reason: ReasonInvalidConnection, Detail: "ca.crt holds no certificate",
			Remedy: "write certificates as PEM into the connection Secret, or leave ca.crt out"}
	}
	all := []*tls.Config{cfg.TLSConfig}
	for _, f := range cfg.Fallbacks {
		all = append(all, f.TLSConfig)
	}
	for _, t := range all {
		if t != nil {
			t.RootCAs = roots
		}
	}
	return nil
}
