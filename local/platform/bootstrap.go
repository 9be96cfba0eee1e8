package platform

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// credentials reads the state folder's credentials, or makes them: they are to be written there once they are in force.
func credentials(dir string) (c Credentials, made bool, err error) {
	path := filepath.Join(dir, credentialsFile)
	err = readJSON(path, &c, "delete it, and freshet local up makes new ones")
	if errors.Is(err, fs.ErrNotExist) {
		return Credentials{User: Role, Password: rand.Text(), EnginePassword: rand.Text()}, true, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("prepare credentials: %w", err)
	}
	return c, false, nil
}

// bootstrap creates the user's role and database where they are not there. A role that is there keeps its password, which the user may have
// changed, unless the credentials were lost and made anew.
func bootstrap(ctx context.Context, superuser string, c Credentials, anew bool) error {
	conn, err := pgx.Connect(ctx, superuser)
	if err != nil {
		return fmt.Errorf("connect to create role %s: %w", Role, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	exists := func(catalogue, column, name string) (found bool, err error) {
		err = conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+catalogue+" WHERE "+column+" = $1)", name).Scan(&found)
		return found, err
	}
	found, err := exists("pg_roles", "rolname", Role)
	// The password is base32: it needs no quoting. PostgreSQL itself turns it into a SCRAM verifier.
	switch {
	case err != nil:
	case !found:
		_, err = conn.Exec(ctx, "CREATE ROLE "+Role+" LOGIN CREATEDB PASSWORD '"+c.Password+"'")
	case anew:
		_, err = conn.Exec(ctx, "ALTER ROLE "+Role+" PASSWORD '"+c.Password+"'")
	}
	if err != nil {
		return fmt.Errorf("create role %s: %w", Role, err)
	}
	found, err = exists("pg_database", "datname", Database)
	if err == nil && !found {
		_, err = conn.Exec(ctx, "CREATE DATABASE "+Database+" OWNER "+Role)
	}
	if err != nil {
		return fmt.Errorf("create database %s: %w", Database, err)
	}
	return nil
}

// namePassword adds the remedy where somebody has given the superuser another password than the one that is kept in a file.
func namePassword(err error, file string) error {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == "28P01" {
		return fmt.Errorf("%w; the role has another password than %s: write the role's into that file", err, file)
	}
	return err
}
