package database

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/gateway/scram"
)

// Role is a role with a password.
type Role struct{ Name, Password string }

// Provision makes two roles that are no superusers: the owner of the connection's database, for applications, and that of units, which is a member
// of it, may replicate, and may read verifiers of passwords, by which gateways let users in. It may be said again.
func (PostgreSQL) Provision(ctx context.Context, superuser Connection, owner, units Role) error {
	conn, err := connect(ctx, superuser)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, r := range []struct {
			Role
			attributes string
		}{{owner, "LOGIN"}, {units, "LOGIN REPLICATION"}} {
			if err := makeRole(ctx, tx, r.Role, r.attributes); err != nil {
				return fmt.Errorf("make role %q: %w", r.Name, err)
			}
		}
		to, member := pgx.Identifier{owner.Name}.Sanitize(), pgx.Identifier{units.Name}.Sanitize()
		for _, sql := range []string{
			"ALTER DATABASE " + pgx.Identifier{conn.Config().Database}.Sanitize() + " OWNER TO " + to,
			"GRANT " + to + " TO " + member, // only an owner may add a table to a publication
			"GRANT SELECT (rolname, rolpassword) ON pg_catalog.pg_authid TO " + member,
			"GRANT EXECUTE ON FUNCTION pg_catalog.pg_reload_conf() TO " + member, // for a new certificate
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("provision the database's roles: %w", err)
	}
	return nil
}

// makeRole makes a role, or gives it attributes and password where it is there.
func makeRole(ctx context.Context, tx pgx.Tx, r Role, attributes string) error {
	// The server's log may have the statement: it must not have the password.
	verifier, err := scram.NewVerifier(r.Password)
	if err != nil {
		return err
	}
	verb := "CREATE"
	var there bool
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", r.Name).Scan(&there); err != nil {
		return err
	}
	if there {
		verb = "ALTER"
	}
	_, err = tx.Exec(ctx, fmt.Sprintf("%s ROLE %s %s PASSWORD '%s'", verb, pgx.Identifier{r.Name}.Sanitize(), attributes, verifier)) // base64, : and $
	return err
}
