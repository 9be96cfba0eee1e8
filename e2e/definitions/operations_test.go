package definitions

import (
	"fmt"
	"math/rand/v2"
)

// The tables that definitions are changed of at random. They hold ledgerRows rows each in the beginning, whose v is
// ledgerValue, and whatever is done to them keeps the sum over all of them.
var ledgers = []string{"a", "b", "c", "p"}

const (
	ledgerRows  = 100
	ledgerValue = 10
)

// ledgerSchema creates the tables. The keys of rows that are added later are drawn from one sequence, so that a table that
// loses its key for a while can have it again.
const ledgerSchema = `
CREATE SEQUENCE ids START 1000;
CREATE TYPE mood AS ENUM ('sad', 'glad');
CREATE TABLE a (id int PRIMARY KEY, v int NOT NULL);
CREATE TABLE b (id int PRIMARY KEY, v int NOT NULL);
CREATE TABLE c (id int PRIMARY KEY, v int NOT NULL);
CREATE TABLE p (id int PRIMARY KEY, v int NOT NULL) PARTITION BY RANGE (id);
CREATE TABLE p_low PARTITION OF p FOR VALUES FROM (MINVALUE) TO (50);
CREATE TABLE p_high PARTITION OF p FOR VALUES FROM (50) TO (MAXVALUE);`

// operation is a kind of change of definitions. Its statements run in one transaction, in which names with the given
// suffix are the session's own. What is not possible in the state that other sessions left fails, and changes nothing.
// Where a table cannot be replicated then, the statements after a line of dashes make that good in a second transaction.
type operation struct {
	name       string
	statements func(r *rand.Rand, suffix string) string
}

const later = "\n----\n"

// operations are drawn from with equal chances.
var operations = []operation{
	{"add a column", on(plainLedgers, "ALTER TABLE %[1]s ADD COLUMN x%[3]d text")},
	{"add a column with a constant", on(ledgers, "ALTER TABLE %[1]s ADD COLUMN x%[3]d int NOT NULL DEFAULT 7")},
	{"add a column that rewrites the table", on(ledgers, "ALTER TABLE %[1]s ADD COLUMN x%[3]d int DEFAULT (random() * 100)::int")},
	{"add an enum", on(ledgers, "ALTER TABLE %[1]s ADD COLUMN x%[3]d mood DEFAULT 'glad'")},
	{"add a column of a type that cannot be replicated", on(plainLedgers, "ALTER TABLE %[1]s ADD COLUMN x%[3]d tsvector DEFAULT 'word'"+later+"ALTER TABLE %[1]s DROP COLUMN x%[3]d")},
	{"drop a column", on(ledgers, "ALTER TABLE %[1]s DROP COLUMN x%[3]d")},
	{"rename a column", on(ledgers, "ALTER TABLE %[1]s RENAME COLUMN x%[3]d TO x%[4]d")},
	{"rename a label", func(*rand.Rand, string) string {
		// The lock keeps readers of PostgreSQL's own from running across the change.
		return "LOCK TABLE a, b, c, p; ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'; ALTER TYPE mood RENAME VALUE 'glad' TO 'sad'; ALTER TYPE mood RENAME VALUE 'blue' TO 'glad'"
	}},
	{"change the type of a value", func(r *rand.Rand, _ string) string {
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN v TYPE %s", one(r, ledgers), one(r, []string{"int", "bigint", "numeric(20)"}))
	}},
	{"change a value and its negation", on(plainLedgers, "ALTER TABLE %[1]s ALTER COLUMN v TYPE bigint USING v + 5; ALTER TABLE %[1]s ALTER COLUMN v TYPE int USING v - 5")},
	{"make the key anew", on(ledgers, dropKey+"; ALTER TABLE %[1]s ADD PRIMARY KEY (id)")},
	{"drop the key", on(plainLedgers, dropKey+later+"ALTER TABLE %[1]s ADD PRIMARY KEY (id)")},
	{"change the replica identity", func(r *rand.Rand, _ string) string {
		return fmt.Sprintf("ALTER TABLE %s REPLICA IDENTITY %s", one(r, plainLedgers), one(r, []string{"FULL", "DEFAULT"}))
	}},
	{"swap tables", on(plainLedgers, "ALTER TABLE %[1]s RENAME TO swap%[5]s; ALTER TABLE %[2]s RENAME TO %[1]s; ALTER TABLE swap%[5]s RENAME TO %[2]s")},
	{"create a table again", on(plainLedgers, `LOCK TABLE %[1]s; CREATE TABLE again%[5]s AS TABLE %[1]s; ALTER TABLE again%[5]s ADD PRIMARY KEY (id); ALTER TABLE again%[5]s ALTER COLUMN v SET NOT NULL;
		DROP TABLE %[1]s; ALTER TABLE again%[5]s RENAME TO %[1]s`)},
	{"truncate and fill", on(plainLedgers, "LOCK TABLE %[1]s; CREATE TEMPORARY TABLE kept ON COMMIT DROP AS SELECT id, v FROM %[1]s; TRUNCATE %[1]s; INSERT INTO %[1]s (id, v) TABLE kept")},
	{"leave the schema and come back", on(ledgers, "CREATE SCHEMA s%[5]s; ALTER TABLE %[1]s SET SCHEMA s%[5]s; ALTER TABLE s%[5]s.%[1]s SET SCHEMA public; DROP SCHEMA s%[5]s")},
	{"detach and attach a partition", on([]string{"p"}, "LOCK TABLE %[1]s; ALTER TABLE %[1]s DETACH PARTITION p_low; ALTER TABLE %[1]s ATTACH PARTITION p_low FOR VALUES FROM (MINVALUE) TO (50)")},
	{"replace a partition", on([]string{"p"}, `LOCK TABLE p; CREATE TABLE part%[5]s (LIKE p_low INCLUDING ALL); INSERT INTO part%[5]s TABLE p_low; ALTER TABLE p DETACH PARTITION p_low; DROP TABLE p_low;
		ALTER TABLE part%[5]s RENAME TO p_low; ALTER TABLE p ATTACH PARTITION p_low FOR VALUES FROM (MINVALUE) TO (50)`)},
	{"move a partition's rows to a table", on(plainLedgers, `LOCK TABLE p, %[1]s; ALTER TABLE p DETACH PARTITION p_low; INSERT INTO %[1]s (id, v) SELECT nextval('ids'), v FROM p_low; TRUNCATE p_low;
		ALTER TABLE p ATTACH PARTITION p_low FOR VALUES FROM (MINVALUE) TO (50)`)},
	{"do without the log", on(plainLedgers, "ALTER TABLE %[1]s SET UNLOGGED"+later+"ALTER TABLE %[1]s SET LOGGED")},
	{"cluster", on(plainLedgers, "CREATE INDEX by%[5]s ON %[1]s (v); CLUSTER %[1]s USING by%[5]s; DROP INDEX by%[5]s")},
	{"create and drop another table", func(r *rand.Rand, suffix string) string {
		return fmt.Sprintf("DROP TABLE IF EXISTS other%[1]s; CREATE TABLE other%[1]s (id int PRIMARY KEY, w text); INSERT INTO other%[1]s SELECT i, 'w' FROM generate_series(1, %d) i", suffix, 1+r.IntN(50))
	}},
}

// plainLedgers are those that are not partitioned.
var plainLedgers = ledgers[:3]

const dropKey = `DO $$ DECLARE k name; BEGIN
	SELECT conname INTO STRICT k FROM pg_constraint WHERE conrelid = '%[1]s'::regclass AND contype = 'p';
	EXECUTE format('ALTER TABLE %[1]s DROP CONSTRAINT %%I', k);
END $$`

// settle are the statements that leave a table such that it can be replicated.
const settle = `DO $$ DECLARE k name; BEGIN
	FOR k IN SELECT attname FROM pg_attribute WHERE attrelid = '%[1]s'::regclass AND atttypid = 'tsvector'::regtype LOOP
		EXECUTE format('ALTER TABLE %[1]s DROP COLUMN %%I', k);
	END LOOP;
	IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = '%[1]s'::regclass AND contype = 'p') THEN ALTER TABLE %[1]s ADD PRIMARY KEY (id); END IF;
	IF (SELECT relpersistence = 'u' FROM pg_class WHERE oid = '%[1]s'::regclass) THEN ALTER TABLE %[1]s SET LOGGED; END IF;
END $$`

// on returns statements over two different tables of a list (%[1]s, %[2]s), two different numbers of columns (%[3]d, %[4]d) and
// the session's suffix (%[5]s).
func on(tables []string, format string) func(*rand.Rand, string) string {
	return func(r *rand.Rand, suffix string) string {
		i, j := r.IntN(len(tables)), r.IntN(3)
		other := i
		if len(tables) > 1 {
			other = (i + 1 + r.IntN(len(tables)-1)) % len(tables)
		}
		return fmt.Sprintf(format, tables[i], tables[other], j, (j+1+r.IntN(2))%3, suffix)
	}
}

func one(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

// transfer moves an amount or a row between two tables.
func transfer(r *rand.Rand) string {
	i := r.IntN(len(ledgers))
	from, to := ledgers[i], ledgers[(i+1+r.IntN(len(ledgers)-1))%len(ledgers)]
	if r.IntN(2) == 0 {
		return fmt.Sprintf(`WITH gone AS (DELETE FROM %s WHERE id = (SELECT max(id) FROM %[1]s) RETURNING v) INSERT INTO %s (id, v) SELECT nextval('ids'), v FROM gone`, from, to)
	}
	return fmt.Sprintf(`WITH taken AS (UPDATE %s SET v = v - 1 WHERE id = (SELECT min(id) FROM %[1]s WHERE id >= %d) RETURNING 1) INSERT INTO %s (id, v) SELECT nextval('ids'), 1 FROM taken`, from, r.IntN(2*ledgerRows), to)
}
