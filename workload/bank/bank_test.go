package bank_test

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/workload/bank"
	"github.com/freshet-io/freshet/workload/invariant"
)

func TestBank_keepsItsTotal(t *testing.T) {
	dsn := stand.Postgres(t).URL("postgres")
	connect := func() *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		return conn
	}
	const accounts = 50
	conn := connect()
	if err := bank.Create(t.Context(), conn, accounts); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var done atomic.Int64
	ended := make(chan error, 2)
	for i := range uint64(2) {
		transferrer := bank.Transferrer{Accounts: accounts, Rand: rand.New(rand.NewPCG(1, i)), Done: &done}
		client := connect()
		go func() { ended <- transferrer.Loop(ctx, client) }()
	}
	checker := invariant.NewChecker(bank.Checks(accounts))
	for done.Load() < 200 || checker.Counts().Snapshots < 50 {
		if _, err := checker.Snapshot(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if c := checker.Counts(); c.Violations != 0 {
		t.Errorf("%d violations: %s", c.Violations, c.First)
	}
	if _, err := conn.Exec(t.Context(), "UPDATE bank_savings SET balance = balance + 0.01 WHERE id = 1"); err != nil {
		t.Fatal(err)
	}
	found, err := checker.Snapshot(t.Context(), conn)
	if err != nil || len(found) != 1 || checker.Counts().First.Count != 1 {
		t.Errorf("a planted cent: found %v, error %v", found, err)
	}
}
