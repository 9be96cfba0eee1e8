package bank

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/workload/invariant"
)

// InitialBalance is what every account starts with.
const InitialBalance = 1000

// Create makes and fills the tables: accounts spread over two, so that a snapshot that is
// consistent for each table alone still breaks the promise.
func Create(ctx context.Context, conn *pgx.Conn, accounts int) error {
	if accounts < 2 {
		return fmt.Errorf("create bank of %d accounts: want at least 2", accounts)
	}
	sql := fmt.Sprintf(`
CREATE TABLE bank_checking (id integer PRIMARY KEY, balance numeric(12,2) NOT NULL);
CREATE TABLE bank_savings (id integer PRIMARY KEY, balance numeric(12,2) NOT NULL);
INSERT INTO bank_checking SELECT i, %[2]d FROM generate_series(1, %[1]d) AS i;
INSERT INTO bank_savings SELECT i, %[2]d FROM generate_series(1, %[1]d) AS i;`, accounts, InitialBalance)
	if _, err := conn.PgConn().Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("create bank: %w", err)
	}
	return nil
}

// Checks returns the promise for a bank of so many accounts.
func Checks(accounts int) []invariant.Check {
	return []invariant.Check{{Name: "bank total", SQL: fmt.Sprintf(`
SELECT checking, savings
FROM (SELECT sum(balance) AS checking FROM bank_checking) AS c,
     (SELECT sum(balance) AS savings FROM bank_savings) AS s
WHERE checking + savings <> %d`, 2*accounts*InitialBalance)}}
}

// Transferrer moves random amounts between random accounts.
type Transferrer struct {
	Accounts int
	Rand     *rand.Rand
	// Done counts the committed transfers.
	Done *atomic.Int64
	// Pace, if set, is called before each transfer, which waits for it to return. An error ends the loop.
	Pace func(context.Context) error
}

// Loop transfers over conn until ctx ends, which is no error.
func (t Transferrer) Loop(ctx context.Context, conn *pgx.Conn) error {
	for ctx.Err() == nil {
		var err error
		if t.Pace != nil {
			err = t.Pace(ctx)
		}
		if err == nil {
			err = t.transfer(ctx, conn)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("transfer: %w", err)
		}
		t.Done.Add(1)
	}
	return nil
}

// transfer moves money from a checking to a savings account or back, in one transaction.
// Checking rows are always locked before savings rows.
func (t Transferrer) transfer(ctx context.Context, conn *pgx.Conn) error {
	cents := t.Rand.IntN(200_00) - 100_00
	var b pgx.Batch
	b.Queue("BEGIN")
	b.Queue("UPDATE bank_checking SET balance = balance - $1::integer * 0.01 WHERE id = $2", cents, 1+t.Rand.IntN(t.Accounts))
	b.Queue("UPDATE bank_savings SET balance = balance + $1::integer * 0.01 WHERE id = $2", cents, 1+t.Rand.IntN(t.Accounts))
	b.Queue("COMMIT")
	return conn.SendBatch(ctx, &b).Close()
}
