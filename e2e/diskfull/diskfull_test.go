package diskfull

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/e2e/endpoint"
	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/local/chengine"
	"github.com/freshet-io/freshet/local/pgserver"
)

const database = "shop"

// limit bounds what a test waits for.
const limit = time.Minute

type rig struct {
	t        *testing.T
	postgres *pgserver.Server
	engine   *chengine.Server
	gateway  *endpoint.Endpoint
	disk     disk
	direct   *pgx.Conn
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, disk: newDisk(t), postgres: stand.Postgres(t)}
	r.engine = stand.Engine(t, func(c *chengine.Config) {
		c.DataDir, c.LogFile = filepath.Join(r.disk.dir(), "engine"), filepath.Join(stand.Dir(t), "engine.log")
	})
	stand.Exec(t, stand.Connect(t, r.postgres.URL("postgres")), "CREATE DATABASE "+database)
	r.direct = stand.Connect(t, r.postgres.URL(database))
	stand.Exec(t, r.direct, "CREATE TABLE event (id int PRIMARY KEY, n bigint NOT NULL, note text NOT NULL); INSERT INTO event SELECT i, i, repeat('x', 50) FROM generate_series(1, 20000) i")
	r.gateway = endpoint.Start(t, r.postgres, r.engine, database, func(c *server.Config) { c.Replica.CompactInterval = 200 * time.Millisecond })
	r.gateway.AwaitTables(t, "public.event")
	return r
}

// same compares strong answers through the endpoint with PostgreSQL's, and returns the route that they took.
func (r *rig) same(tables ...string) (route string) {
	r.t.Helper()
	through := stand.Connect(r.t, r.gateway.URL(database))
	defer func() { _ = through.Close(context.Background()) }()
	stand.Exec(r.t, through, "SET freshet.freshness = 'strong'; SET statement_timeout = '20s'")
	for _, table := range tables {
		sql := "SELECT count(*), sum(n), max(n), min(n) FROM " + table
		want, got := rows(r.t, r.direct, sql), rows(r.t, through, sql)
		if got != want {
			r.t.Fatalf("%s: the endpoint answers %q by route %s (%s) at %s, PostgreSQL %q", sql, got, rows(r.t, through, "SHOW freshet.last_route"),
				rows(r.t, through, "SHOW freshet.last_reason"), rows(r.t, through, "SHOW freshet.snapshot"), want)
		}
		route = rows(r.t, through, "SHOW freshet.last_route")
	}
	return route
}

// await waits for a condition of the outside world.
func (r *rig) await(what string, holds func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			r.t.Fatalf("waited in vain for %s; status %+v", what, r.gateway.Status())
		}
	}
}

func (r *rig) diskFull() bool { return r.disk.shows(r.gateway.Status().Problem) }

// confirmsOnlyRecords checks that PostgreSQL was not told to forget what the engine's newest epoch record does not cover.
// A full disk may well take a record, whenever the engine has just removed something of its own.
func (r *rig) confirmsOnlyRecords() {
	r.t.Helper()
	confirmed := rows(r.t, r.direct, "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 'freshet'")
	if !r.disk.refuses() {
		return // the engine believes in records that are cut short
	}
	conn, err := engine.Dial(r.t.Context(), engine.Config{Addr: r.engine.TCPAddr(), User: r.engine.User, Password: r.engine.Password})
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	recorded, err := conn.Strings(r.t.Context(), "SELECT position AS n FROM freshet.epochs ORDER BY serial DESC LIMIT 1")
	if err != nil || len(recorded) != 1 {
		r.t.Fatalf("read the epoch record: %q, %v", recorded, err)
	}
	if rows(r.t, r.direct, fmt.Sprintf("SELECT '%s'::pg_lsn <= '%s'", confirmed, recorded[0])) != "t" {
		r.t.Errorf("the slot is confirmed up to %s, the engine's disk has what is up to %s", confirmed, recorded[0])
	}
}

func TestReplica_withAFullDisk(t *testing.T) {
	r := newRig(t)
	direct := r.direct
	r.await("columnar answers before", func() bool { return r.same("event") == "columnar" })
	free := r.disk.fill(t, r.engine)
	defer func() { free() }()

	// Changes go on, all answers are right, and no more is confirmed than what found a place on the disk.
	n := 0
	change := func() {
		n++
		stand.Exec(t, direct, fmt.Sprintf("UPDATE event SET n = n + 1 WHERE id %% 10 = %d; DELETE FROM event WHERE id = %d; INSERT INTO event VALUES (%d, 1, 'new')", n%10, n, 100_000+n))
	}
	r.await("the engine to refuse", func() bool {
		change()
		r.same("event")
		return r.diskFull()
	})
	stand.Exec(t, direct, "CREATE TABLE late (id int PRIMARY KEY, n int); INSERT INTO late SELECT i, i FROM generate_series(1, 1000) i")
	for range 5 {
		change()
		r.same("event", "late")
	}
	r.confirmsOnlyRecords()

	// What the engine had in memory is gone with it, and it may not even start.
	if err := r.engine.Kill(); err != nil {
		t.Fatal(err)
	}
	change()
	r.same("event", "late")
	if err := r.engine.Start(t.Context()); err != nil {
		t.Logf("the engine does not start without space: %v", err)
	} else if _, ok := r.disk.(limited); ok {
		free = r.disk.fill(t, r.engine)
	}
	for range 5 {
		change()
		r.same("event", "late")
	}

	free()
	select {
	case <-r.engine.Done():
		if err := r.engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	default:
	}
	// An engine that was not told of a failed write may have lost what it confirmed: then the replica stops and says so.
	stopped := func() bool { return !r.disk.refuses() && r.gateway.Status().Stopped != nil }
	r.await("columnar answers", func() bool { return r.same("event", "late") == "columnar" || stopped() })
	if stopped() {
		return
	}
	change()
	last := rows(t, direct, "SELECT pg_current_wal_insert_lsn()")
	r.await("the slot to move on", func() bool {
		return rows(t, direct, "SELECT confirmed_flush_lsn >= '"+last+"' FROM pg_replication_slots WHERE slot_name = 'freshet'") == "t"
	})
	r.confirmsOnlyRecords()
	r.await("the end of the problem", func() bool { return !r.diskFull() })
	r.await("columnar answers at the end", func() bool { return r.same("event", "late") == "columnar" })
}

// rows returns the last statement's rows as one line.
func rows(t *testing.T, c *pgx.Conn, sql string) string {
	t.Helper()
	results, err := c.PgConn().Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var lines []string
	for _, row := range results[len(results)-1].Rows {
		var values []string
		for _, v := range row {
			values = append(values, string(v))
		}
		lines = append(lines, strings.Join(values, " "))
	}
	return strings.Join(lines, ", ")
}
