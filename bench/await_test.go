package bench_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/bench"
	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/workload/ch"
)

func TestAwaitReplica(t *testing.T) {
	postgres := stand.Postgres(t)
	e := endpoint.Start(t, postgres, stand.Engine(t), "postgres")
	dsn := e.URL("postgres")

	err := bench.AwaitReplica(t.Context(), dsn, time.Hour)
	if err == nil || !strings.Contains(err.Error(), `relation "warehouse" does not exist`) {
		t.Fatalf("without tables: %v, want PostgreSQL's error at once", err)
	}
	direct, err := pgx.Connect(t.Context(), postgres.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer direct.Close(context.WithoutCancel(t.Context()))
	for _, table := range ch.Tables {
		if _, err := direct.Exec(t.Context(), "CREATE TABLE "+table+" (id int PRIMARY KEY)"); err != nil {
			t.Fatal(err)
		}
	}
	if err := bench.AwaitReplica(t.Context(), dsn, 5*time.Minute); err != nil {
		t.Fatalf("just after the tables were made: %v", err)
	}
	if _, err := direct.Exec(t.Context(), "DROP TABLE history; CREATE TABLE history (id int)"); err != nil {
		t.Fatal(err)
	}
	err = bench.AwaitReplica(t.Context(), dsn, 3*time.Second)
	if err == nil || !strings.Contains(err.Error(), `table "history" after 3s`) || !strings.Contains(err.Error(), "NoKey") {
		t.Errorf("with a table that has no key: %v, want its name and the reason", err)
	}
}
