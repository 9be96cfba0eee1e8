package definitions

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/local/chengine"
	"github.com/freshet-io/freshet/local/pgserver"
)

const database = "shop"

// limit bounds everything that a test waits for.
const limit = time.Minute

// change is a transaction that changes what table t holds without row changes in the stream. The same transaction sets
// the number in table m from 0 to 1, so that a query over both tells on which side of the change it is.
type change struct {
	name, schema, ddl string
	value             string // what is asked of t
	before, after     string
}

const (
	plain       = "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT i, 1 FROM generate_series(1, 100) i;"
	partitioned = `CREATE TABLE t (id int PRIMARY KEY, v int) PARTITION BY RANGE (id);
		CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (100); CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (100) TO (200);
		INSERT INTO t SELECT i, 1 FROM generate_series(0, 199) i;`
	twoKeys = "CREATE TABLE t (id int PRIMARY KEY, b int NOT NULL); INSERT INTO t VALUES (1, 10), (2, 20);"
)

// Where PostgreSQL's lock would let its own readers run across the change, a stronger one is taken first.
var changes = []change{
	{"rewrite values", plain, "ALTER TABLE t ALTER COLUMN v TYPE int USING v + 1", "sum(t.v)", "100", "200"},
	{"attach partition", partitioned + "CREATE TABLE t_3 (id int PRIMARY KEY, v int); INSERT INTO t_3 SELECT i, 1 FROM generate_series(200, 299) i",
		"LOCK TABLE t; ALTER TABLE t ATTACH PARTITION t_3 FOR VALUES FROM (200) TO (300)", "sum(t.v)", "200", "300"},
	{"detach partition", partitioned, "LOCK TABLE t; ALTER TABLE t DETACH PARTITION t_2", "sum(t.v)", "200", "100"},
	{"drop partition", partitioned, "LOCK TABLE t; DROP TABLE t_1", "sum(t.v)", "200", "100"},
	{"change a detached partition", partitioned, `LOCK TABLE t; ALTER TABLE t DETACH PARTITION t_1; UPDATE t_1 SET v = 5; DELETE FROM t_1 WHERE id = 3;
		ALTER TABLE t ATTACH PARTITION t_1 FOR VALUES FROM (0) TO (100)`, "sum(t.v)", "200", "595"},
	{"have a partition for a while", partitioned, `LOCK TABLE t; CREATE TABLE t_3 PARTITION OF t FOR VALUES FROM (200) TO (300); INSERT INTO t VALUES (250, 1000);
		DELETE FROM t WHERE id = 3; DROP TABLE t_3`, "sum(t.v)", "200", "199"},
	{"truncate partition", partitioned, "LOCK TABLE t; TRUNCATE t_1", "sum(t.v)", "200", "100"},
	{"rename label", "CREATE TYPE mood AS ENUM ('sad', 'glad'); CREATE TABLE t (id int PRIMARY KEY, v mood); INSERT INTO t VALUES (1, 'sad')",
		"LOCK TABLE t; ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'", "t.v", "sad", "blue"},
	{"rename label and back", "CREATE TYPE sign AS ENUM ('plus', 'minus'); CREATE TABLE t (id int PRIMARY KEY, v sign); INSERT INTO t VALUES (1, 'plus')",
		"LOCK TABLE t; ALTER TYPE sign RENAME VALUE 'minus' TO 'x'; UPDATE t SET v = 'x'; ALTER TYPE sign RENAME VALUE 'x' TO 'minus'", "t.v", "plus", "minus"},
	{"move the key and back", twoKeys, `ALTER TABLE t DROP CONSTRAINT t_pkey, ADD CONSTRAINT by_b PRIMARY KEY (b); UPDATE t SET id = 2 WHERE b = 10; UPDATE t SET id = 1 WHERE b = 20;
		ALTER TABLE t DROP CONSTRAINT by_b, ADD PRIMARY KEY (id)`, "sum(t.id * t.b)", "50", "40"},
	{"lack the key of whole rows", twoKeys + "ALTER TABLE t REPLICA IDENTITY FULL", `ALTER TABLE t DROP CONSTRAINT t_pkey; UPDATE t SET id = 2 WHERE b = 10; UPDATE t SET id = 1 WHERE b = 20;
		ALTER TABLE t ADD PRIMARY KEY (id)`, "sum(t.id * t.b)", "50", "40"},
	{"swap tables", plain + "CREATE TABLE next (id int PRIMARY KEY, v int); INSERT INTO next VALUES (1, 20)",
		"ALTER TABLE t RENAME TO last; ALTER TABLE next RENAME TO t", "sum(t.v)", "100", "20"},
	{"create again", plain, "DROP TABLE t; CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 7)", "sum(t.v)", "100", "7"},
}

func (c change) query() string {
	if c.value == "t.v" {
		return "SELECT m.n, t.v FROM t CROSS JOIN m WHERE t.id < 100"
	}
	return "SELECT m.n, " + c.value + " FROM t CROSS JOIN m GROUP BY m.n"
}

// rig is a database with one schema for each change.
type rig struct {
	postgres *pgserver.Server
	engine   *chengine.Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{postgres: stand.Postgres(t), engine: stand.Engine(t)}
	stand.Exec(t, stand.Connect(t, r.postgres.URL("postgres")), "CREATE DATABASE "+database)
	for i := range changes {
		stand.Exec(t, r.direct(t, i), fmt.Sprintf("CREATE SCHEMA change_%d; CREATE TABLE m (id int PRIMARY KEY, n int); INSERT INTO m VALUES (1, 0); %s", i, changes[i].schema))
	}
	return r
}

func (r *rig) gateway(t *testing.T) *endpoint.Endpoint {
	return endpoint.Start(t, r.postgres, r.engine, database, func(c *server.Config) { c.Include = []string{"change_*.*"} })
}

// direct opens a session with PostgreSQL in a change's schema.
func (r *rig) direct(t *testing.T, i int) *pgx.Conn {
	c := stand.Connect(t, r.postgres.URL(database))
	stand.Exec(t, c, fmt.Sprintf("SET search_path = change_%d", i))
	return c
}

// apply commits a change.
func (r *rig) apply(t *testing.T, i int) {
	t.Helper()
	stand.Exec(t, r.direct(t, i), "BEGIN; "+changes[i].ddl+"; UPDATE m SET n = 1; COMMIT")
}

// reader asks one change's query again and again.
type reader struct {
	conn   *pgx.Conn
	change change
	strong bool
}

func (r *rig) reader(t *testing.T, g *endpoint.Endpoint, i int, settings string) *reader {
	t.Helper()
	c := stand.Connect(t, g.URL(database))
	stand.Exec(t, c, fmt.Sprintf("SET search_path = change_%d; %s", i, settings))
	return &reader{conn: c, change: changes[i]}
}

// answer asks once, and fails if the answer is of no side of the change. It tells the side and the route.
func (r *reader) answer(ctx context.Context) (changed, columnar bool, err error) {
	results, err := r.conn.PgConn().Exec(ctx, r.change.query()).ReadAll()
	if err != nil {
		return false, false, fmt.Errorf("query: %w", err)
	}
	got := ""
	for _, row := range results[0].Rows {
		got += string(row[0]) + " " + string(row[1])
	}
	changed = got == "1 "+r.change.after
	if !changed && got != "0 "+r.change.before {
		return false, false, fmt.Errorf("the answer is %q, want %q or %q", got, "0 "+r.change.before, "1 "+r.change.after)
	}
	route, err := r.conn.PgConn().Exec(ctx, "SHOW freshet.last_route").ReadAll()
	if err != nil {
		return false, false, fmt.Errorf("ask for the route: %w", err)
	}
	return changed, string(route[0].Rows[0][0]) == "columnar", nil
}

// until asks until an answer is of the wanted side and comes from the replica.
func (r *reader) until(ctx context.Context, changed bool) error {
	for {
		side, columnar, err := r.answer(ctx)
		if err != nil {
			return err
		}
		if side && !changed {
			return errors.New("the change shows before it was made")
		}
		if r.strong && changed && !side {
			return errors.New("a strong read does not see the change that was committed before")
		}
		if columnar && side == changed {
			return nil
		}
	}
}

// modes are settings of readers.
var modes = map[string]string{
	"bounded":  "SET freshet.max_staleness = '1s'",
	"lenient":  "SET freshet.max_staleness = '1h'",
	"eventual": "SET freshet.freshness = 'eventual'",
	"strong":   "SET freshet.freshness = 'strong'",
}

func TestChange_isNeverSeenInPart(t *testing.T) {
	r := newRig(t)
	g := r.gateway(t)
	for i, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			readers := map[string]*reader{}
			for mode, settings := range modes {
				readers[mode] = r.reader(t, g, i, settings)
				if err := readers[mode].until(ctx, false); err != nil {
					t.Fatalf("%s, before: %v", mode, err)
				}
			}
			group, gctx := errgroup.WithContext(ctx)
			for mode, reader := range readers {
				group.Go(func() error {
					if err := reader.until(gctx, true); err != nil {
						return fmt.Errorf("%s: %w", mode, err)
					}
					return nil
				})
			}
			r.apply(t, i)
			late := r.reader(t, g, i, modes["strong"])
			late.strong = true
			if err := late.until(ctx, true); err != nil {
				t.Errorf("strong, after: %v", err)
			}
			if err := group.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestChange_isNoticedWhenTheGatewayWasDown(t *testing.T) {
	r := newRig(t)
	first := r.gateway(t)
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for i, c := range changes {
		if err := r.reader(t, first, i, modes["strong"]).until(ctx, false); err != nil {
			t.Fatalf("%s, before: %v", c.name, err)
		}
	}
	first.Stop()
	for i := range changes {
		r.apply(t, i)
	}
	second := r.gateway(t)
	for i, c := range changes {
		late := r.reader(t, second, i, modes["strong"])
		late.strong = true
		if err := late.until(ctx, true); err != nil {
			t.Errorf("%s, after: %v", c.name, err)
		}
		// A session that takes any snapshot may see the state from before, but nothing between.
		if err := r.reader(t, second, i, modes["eventual"]).until(ctx, true); err != nil {
			t.Errorf("%s, eventual: %v", c.name, err)
		}
	}
}
