package platform

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/jackc/pgx/v5"
)

// credentials reads the state folder's credentials, or makes them.
func credentials(dir string) (Credentials, error) {
	path := filepath.Join(dir, credentialsFile)
	var c Credentials
	err := readJSON(path, &c)
	if errors.Is(err, fs.ErrNotExist) {
		c = Credentials{User: Role, Password: rand.Text(), EnginePassword: rand.Text()}
		err = writeJSON(path, c)
	}
	if err != nil {
		return c, fmt.Errorf("prepare credentials: %w", err)
	}
	return c, nil
}

// bootstrap creates the user's role and database. It does nothing where they are there.
func bootstrap(ctx context.Context, superuser string, c Credentials) error {
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
	if err == nil && !found {
		// The password is base32: it needs no quoting. PostgreSQL itself turns it into a SCRAM verifier.
		_, err = conn.Exec(ctx, "CREATE ROLE "+Role+" LOGIN CREATEDB PASSWORD '"+c.Password+"'")
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
