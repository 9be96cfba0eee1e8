package differential

import (
	"context"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	firstSeed   = flag.Uint64("seed", 1, "seed of the first world")
	postgresDSN = flag.String("postgres", "", "use this PostgreSQL server instead of starting one; DB stands for the database")
)

// runID keeps the databases of several runs on one server apart.
var runID = strconv.Itoa(os.Getpid())

type postgresURLs interface{ URL(database string) string }

type foreignServer string

func (s foreignServer) URL(database string) string {
	return strings.ReplaceAll(string(s), "DB", database)
}

func postgresServer(t *testing.T) postgresURLs {
	t.Helper()
	return foreignServer(*postgresDSN)
}

func createDatabase(ctx context.Context, t *testing.T, server postgresURLs, name string) {
	t.Helper()
	admin := func(ctx context.Context, sql string) error {
		conn, err := pgconn.Connect(ctx, server.URL("postgres"))
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, sql).ReadAll()
		return err
	}
	if err := admin(ctx, "CREATE DATABASE "+name+" STRATEGY file_copy"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin(context.Background(), "DROP DATABASE "+name+" (FORCE)"); err != nil {
			t.Errorf("drop database %s: %v", name, err)
		}
	})
}
