package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"
)

// Schema creates the tables that random transactions work on: plain, with a composite text key, partitioned with
// row movement, with values out of line (TOAST), and with the whole row as replica identity. Two have columns that are
// not replicated, in line and out of line.
const Schema = `
CREATE TABLE plain (id int PRIMARY KEY, amount numeric(12,2), note text, at timestamptz DEFAULT now());
CREATE TABLE composite (a int, b text, v bigint NOT NULL DEFAULT 0, u uuid, d date, PRIMARY KEY (b, a));
CREATE TABLE parted (id int, region int, v text, PRIMARY KEY (id, region)) PARTITION BY LIST (region);
CREATE TABLE parted_0 PARTITION OF parted FOR VALUES IN (0);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE parted_2 PARTITION OF parted DEFAULT;
CREATE TABLE toasted (id int PRIMARY KEY, n int, tags text[] DEFAULT array_fill('a "tag"'::text, ARRAY[1000]), big text, raw bytea);
ALTER TABLE toasted ALTER tags SET STORAGE EXTERNAL, ALTER big SET STORAGE EXTERNAL, ALTER raw SET STORAGE EXTERNAL;
CREATE TABLE whole (id int PRIMARY KEY, span interval DEFAULT '1 day', n int, big text, spot point);
ALTER TABLE whole REPLICA IDENTITY FULL;
ALTER TABLE whole ALTER big SET STORAGE EXTERNAL;
`

// Transaction is a random transaction.
type Transaction struct {
	Statements []string
	Rollback   bool
}

// String prints the transaction for a failing test.
func (t Transaction) String() string {
	end := "COMMIT"
	if t.Rollback {
		end = "ROLLBACK"
	}
	return strings.Join(t.Statements, "; ") + "; " + end
}

// Transactions generates transactions on Schema.
func Transactions() *rapid.Generator[Transaction] {
	return rapid.Custom(func(t *rapid.T) Transaction {
		statements := rapid.SliceOfN(statement(), 1, 8).Draw(t, "statements")
		return Transaction{Statements: statements, Rollback: rapid.IntRange(0, 5).Draw(t, "end") == 5}
	})
}

// templates are statements with numbers to fill in: k a small key, n any number.
var templates = []string{
	"INSERT INTO plain VALUES ({k}, {n}.25, 'note {n}') ON CONFLICT DO NOTHING",
	"INSERT INTO plain SELECT g, {n}, NULL FROM generate_series({k}, {k}+5) g ON CONFLICT (id) DO UPDATE SET amount = excluded.amount",
	"UPDATE plain SET amount = amount + {n}, note = NULL WHERE id = {k}",
	"UPDATE plain SET id = {k} WHERE id = {k}",
	"UPDATE plain SET id = id + 1000 WHERE id = {k}",
	"UPDATE plain SET id = -id WHERE id BETWEEN {k} AND {k}+2",
	"DELETE FROM plain WHERE id = {k}",
	"DELETE FROM plain WHERE id > {k} + 5",
	"INSERT INTO composite (a, b, v, u, d) VALUES ({k}, 'b{k}', {n}, gen_random_uuid(), 'infinity') ON CONFLICT DO NOTHING",
	"UPDATE composite SET v = v + {n} WHERE a < {k}",
	"UPDATE composite SET b = 'b{k}' WHERE a = {k}",
	"DELETE FROM composite WHERE b = 'b{k}'",
	"INSERT INTO parted VALUES ({k}, {n} % 4, 'v{n}') ON CONFLICT DO NOTHING",
	"UPDATE parted SET region = {n} % 4 WHERE id = {k}",
	"UPDATE parted SET v = NULL WHERE id = {k}",
	"DELETE FROM parted WHERE region = {k} % 4",
	"INSERT INTO toasted (id, n, big, raw) VALUES ({k}, {n}, repeat('x{n}', 3000), decode(repeat('ab', 5000), 'hex')) ON CONFLICT DO NOTHING",
	"UPDATE toasted SET n = n + 1 WHERE id = {k}",
	"UPDATE toasted SET n = n + 1, big = repeat('y{n}', 2000) WHERE id = {k}",
	"UPDATE toasted SET id = id + 100 WHERE id = {k}",
	"DELETE FROM toasted WHERE id = {k}",
	"INSERT INTO whole (id, n, big) VALUES ({k}, {n}, repeat('z{n}', 2000)) ON CONFLICT DO NOTHING",
	"UPDATE whole SET n = {n} WHERE id = {k}",
	"UPDATE whole SET span = span * {n}, spot = point({k}, {n})",
	"UPDATE toasted SET tags[{k}] = NULL",
	"UPDATE whole SET id = id + 50 WHERE id = {k}",
	"DELETE FROM whole WHERE id = {k}",
	"SAVEPOINT s; INSERT INTO plain VALUES ({k} + 500) ON CONFLICT DO NOTHING; ROLLBACK TO s; DELETE FROM plain WHERE id = {k}",
	"SAVEPOINT s; UPDATE composite SET v = {n}; RELEASE s",
	"TRUNCATE plain",
	"TRUNCATE composite, toasted",
	"TRUNCATE parted",
}

func statement() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		// Truncates, at the end of the list, come seldom: nothing would be left to change.
		i := rapid.IntRange(0, len(templates)-4).Draw(t, "template")
		if rapid.IntRange(0, 30).Draw(t, "rare") == 30 {
			i = len(templates) - rapid.IntRange(1, 3).Draw(t, "truncate")
		}
		var b strings.Builder
		for rest := templates[i]; rest != ""; {
			text, after, found := strings.Cut(rest, "{")
			b.WriteString(text)
			if !found {
				break
			}
			high := 1000
			if after[0] == 'k' {
				high = 12
			}
			fmt.Fprint(&b, rapid.IntRange(1, high).Draw(t, "number"))
			rest = after[2:]
		}
		return b.String()
	})
}

// Run executes the transactions of each session in order, sessions side by side. A transaction that the database
// refuses (a duplicate key, a deadlock) is rolled back, which is part of the test.
func Run(ctx context.Context, url string, sessions [][]Transaction) error {
	errs := make([]error, len(sessions))
	var wg sync.WaitGroup
	for i, transactions := range sessions {
		wg.Go(func() { errs[i] = runSession(ctx, url, transactions) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func runSession(ctx context.Context, url string, transactions []Transaction) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	// Sessions that deadlock should not wait for it to be noticed.
	if _, err := conn.Exec(ctx, "SET deadlock_timeout = '10ms'"); err != nil {
		return err
	}
	for _, t := range transactions {
		_, err := conn.Exec(ctx, "BEGIN; "+t.String(), pgx.QueryExecModeSimpleProtocol)
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code[:2] != "57" {
			if refused.Code[:2] == "42" {
				return fmt.Errorf("transaction %q: %w", t, err)
			}
			_, err = conn.Exec(ctx, "ROLLBACK")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
