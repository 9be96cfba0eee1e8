package pgwire_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// encryptedBed has TLS on both sides of the gateway, which reads verifiers unless change says otherwise.
func encryptedBed(t *testing.T, change ...func(*pgwire.Config)) *bed {
	t.Helper()
	endpoint, err := pgwire.SelfSignedTLS(time.Now(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	b := newOwnBed(t)
	certificate(t, b)
	verifiers, err := pgx.Connect(t.Context(), b.direct)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = verifiers.Close(context.Background()) })
	b.gateway(t, append([]func(*pgwire.Config){func(c *pgwire.Config) {
		c.TLS, c.BackendTLS = endpoint, &tls.Config{InsecureSkipVerify: true}
		c.Verifier = func(ctx context.Context, role string) (verifier string, err error) {
			err = verifiers.QueryRow(ctx, "SELECT coalesce((SELECT rolpassword FROM pg_authid WHERE rolname = $1), '')", role).Scan(&verifier)
			return verifier, err
		}
	}}, change...)...)
	return b
}

// binding is the connection string with TLS and a mode of channel_binding.
func binding(url, mode string) string {
	return strings.Replace(url, "sslmode=disable", "sslmode=require&channel_binding="+mode, 1)
}

func TestServer_logsClientsInWhereBothSidesUseTLS(t *testing.T) {
	b := encryptedBed(t)
	for _, mode := range []string{"disable", "prefer", "require"} {
		t.Run(mode, func(t *testing.T) {
			c := connect(t, binding(b.through, mode))
			if got := run(t, c, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")[0][0]; got != "t" {
				t.Errorf("PostgreSQL's side is encrypted: %s", got)
			}
			run(t, c, read)
		})
	}
	t.Run("plain client", func(t *testing.T) { run(t, connect(t, b.through), read) })
	t.Run("after a change of the password", func(t *testing.T) {
		admin := connect(t, b.direct)
		for _, password := range []string{"first", "second"} {
			run(t, admin, fmt.Sprintf("DO $$ BEGIN IF to_regrole('changing') IS NULL THEN CREATE ROLE changing LOGIN; END IF; END $$; ALTER ROLE changing PASSWORD '%s'", password))
			run(t, connect(t, as(t, binding(b.through, "require"), "changing", password)), "SELECT 1")
		}
	})
}

// as replaces user and password in a connection string.
func as(t *testing.T, url, user, password string) string {
	t.Helper()
	_, address, ok := strings.Cut(url, "@")
	if !ok {
		t.Fatalf("no user in %s", url)
	}
	return fmt.Sprintf("postgres://%s:%s@%s", user, password, address)
}

func TestServer_refusesLoginsAsPostgreSQLDoesWhereBothSidesUseTLS(t *testing.T) {
	b := encryptedBed(t)
	run(t, connect(t, b.direct), "CREATE ROLE without LOGIN; CREATE ROLE expired LOGIN PASSWORD 'secret' VALID UNTIL '2001-01-01'; CREATE ROLE barred PASSWORD 'secret'")
	for _, role := range []string{"postgres", "nobody", "without", "expired", "barred"} {
		for _, mode := range []string{"disable", "prefer", "require"} {
			t.Run(role+" "+mode, func(t *testing.T) {
				refusal := func(url string) *pgconn.PgError {
					conn, err := pgconn.Connect(t.Context(), as(t, binding(url, mode), role, map[bool]string{true: "secret", false: "wrong"}[role == "barred" || role == "expired"]))
					if err == nil {
						_ = conn.Close(t.Context())
						t.Fatal("logged in")
					}
					e, ok := errors.AsType[*pgconn.PgError](err)
					if !ok {
						t.Fatalf("refused by %v, not by PostgreSQL", err)
					}
					return e
				}
				if diff := cmp.Diff(refusal(b.direct), refusal(b.through)); diff != "" {
					t.Errorf("refused otherwise than by PostgreSQL (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestServer_saysWhatToDoWhereNoVerifierCanBeRead(t *testing.T) {
	b := encryptedBed(t, func(c *pgwire.Config) {
		c.Verifier = func(context.Context, string) (string, error) { return "", errors.New("permission denied") }
	})
	run(t, connect(t, binding(b.through, "disable")), read)
	_, err := pgconn.Connect(t.Context(), binding(b.through, "prefer"))
	wantCode(t, err, "08P01")
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && !strings.Contains(e.Hint, "channel_binding=disable") {
		t.Errorf("the hint is %q", e.Hint)
	}
}
