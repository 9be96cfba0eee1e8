package cockroach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/dial"
)

// limit bounds how long the operator waits for a node, and for one statement.
const limit = 5 * time.Second

// Root is how to reach CockroachDB as root: by a certificate. All are PEM.
type Root struct {
	// Host and Port are the address, for which the server's certificate must be.
	Host string
	Port uint16
	// CA vouches for the server, Cert and Key are root's.
	CA, Cert, Key []byte
}

// Servers looks after servers over the network. The zero value is ready for use.
type Servers struct{}

// Prepare makes a database; see [Prepare].
func (Servers) Prepare(ctx context.Context, r Root, t Target) error {
	return with(ctx, r, func(s Session) error { return Prepare(ctx, s, t) })
}

// EndChangefeeds cancels changefeeds; see [EndChangefeeds].
func (Servers) EndChangefeeds(ctx context.Context, r Root, prefix string, keep int) error {
	return with(ctx, r, func(s Session) error { return EndChangefeeds(ctx, s, prefix, keep) })
}

// Nodes tells of the nodes; see [Nodes].
func (Servers) Nodes(ctx context.Context, r Root) (nodes []Node, err error) {
	err = with(ctx, r, func(s Session) error {
		nodes, err = Nodes(ctx, s)
		return err
	})
	return nodes, err
}

func with(ctx context.Context, r Root, do func(Session) error) error {
	pair, err := tls.X509KeyPair(r.Cert, r.Key)
	if err != nil {
		return fmt.Errorf("read root's certificate: %w", err)
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(r.CA) {
		return errors.New("read CockroachDB's authority: it is no certificate in PEM")
	}
	cfg, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%d user=root database=defaultdb sslmode=verify-full", r.Host, r.Port))
	if err != nil {
		return fmt.Errorf("connect to CockroachDB: %w", err)
	}
	cfg.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: authorities, Certificates: []tls.Certificate{pair}, ServerName: r.Host}
	cfg.ConnectTimeout = limit
	cfg.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol // all values are text
	cfg.RuntimeParams["application_name"] = "freshet operator"
	cfg.RuntimeParams["statement_timeout"] = fmt.Sprint(limit.Milliseconds())
	dial.Bound(cfg, limit+time.Second) // a server that hangs keeps no limit
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connect to CockroachDB: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return do(session{conn})
}

// session is a connection's.
type session struct{ conn *pgx.Conn }

// Query implements [Session].
func (s session) Query(ctx context.Context, sql string) ([][]string, error) {
	rows, err := s.conn.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all [][]string
	for rows.Next() {
		var row []string
		for _, value := range rows.RawValues() {
			row = append(row, string(value))
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
