package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// socketDir is where the official image's clients look for the server.
const socketDir = "/var/run/postgresql"

// cluster is what the environment asks for.
type cluster struct {
	data                     string // PGDATA
	user, password, database string
	initdbArgs               []string
}

func fromEnvironment(get func(string) string) (cluster, error) {
	or := func(name, fallback string) string {
		if v := get(name); v != "" {
			return v
		}
		return fallback
	}
	user := or("POSTGRES_USER", "postgres")
	c := cluster{
		data: get("PGDATA"), user: user, password: get("POSTGRES_PASSWORD"), database: or("POSTGRES_DB", user),
		initdbArgs: strings.Fields(get("POSTGRES_INITDB_ARGS")), // without quotes, other than in the official image
	}
	if !filepath.IsAbs(c.data) {
		return c, fmt.Errorf("PGDATA %q is not an absolute path", c.data)
	}
	return c, nil
}

// initialise makes the data folder unless it is there. It is made beside, and renamed.
func (c cluster) initialise(ctx context.Context) error {
	_, err := os.Stat(filepath.Join(c.data, "PG_VERSION"))
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if c.password == "" {
		return errors.New("POSTGRES_PASSWORD is empty: set it, the superuser needs a password")
	}
	staging := c.data + ".new"
	if err := os.RemoveAll(staging); err != nil { // the rest of an interrupted attempt
		return err
	}
	if err := os.MkdirAll(staging, 0o700); err != nil {
		return fmt.Errorf("%w; the folder around PGDATA must be writable", err)
	}
	data := filepath.Join(staging, "data")
	if err := c.initdb(ctx, data, filepath.Join(staging, "password")); err != nil {
		return err
	}
	if err := admitRemoteHosts(filepath.Join(data, "pg_hba.conf")); err != nil {
		return err
	}
	if err := c.createDatabase(ctx, data); err != nil {
		return err
	}
	if err := os.Remove(c.data); err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty folder may be there
		return fmt.Errorf("%w; it holds no PostgreSQL data", err)
	}
	if err := os.Rename(data, c.data); err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(staging), syncDir(filepath.Dir(c.data)))
}

func (c cluster) initdb(ctx context.Context, data, secret string) error {
	if err := os.WriteFile(secret, []byte(c.password+"\n"), 0o600); err != nil {
		return err
	}
	args := []string{"--pgdata=" + data, "--username=" + c.user, "--pwfile=" + secret, "--auth=trust",
		"--set=listen_addresses=*", "--set=unix_socket_directories=" + socketDir}
	return command(ctx, "initdb", append(args, c.initdbArgs...)...).Run()
}

// admitRemoteHosts lets everybody with a password in. What initdb wrote, no password from the same host, comes before.
func admitRemoteHosts(hba string) error {
	f, err := os.OpenFile(hba, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, "\nhost all all all scram-sha-256")
	return errors.Join(err, f.Sync(), f.Close())
}

// createDatabase needs no server that listens: the one process of single-user mode ends with a checkpoint.
func (c cluster) createDatabase(ctx context.Context, data string) error {
	if c.database == "postgres" {
		return nil
	}
	cmd := command(ctx, "postgres", "--single", "-D", data, "-c", "exit_on_error=on", "postgres")
	cmd.Stdin = strings.NewReader(`CREATE DATABASE "` + strings.ReplaceAll(c.database, `"`, `""`) + "\"\n")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("create database %q: %w", c.database, err)
	}
	return nil
}

// command is a program of PostgreSQL that ends in order with ctx.
func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
