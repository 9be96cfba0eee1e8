package server_test

import (
	"slices"
	"testing"
	"time"
)

// TestGateway_followsAReloadOfTheConfiguration changes settings that PostgreSQL reports to no client.
func TestGateway_followsAReloadOfTheConfiguration(t *testing.T) {
	t.Parallel()
	g := start(t, `CREATE TABLE file (id int PRIMARY KEY, content bytea NOT NULL);
INSERT INTO file SELECT i, decode('00ff5c41', 'hex') FROM generate_series(1, 3) i`)
	columnar, oltp := g.routes()
	direct := g.connect(g.oltp.URL("postgres"))
	const sql = "SELECT id, content FROM file ORDER BY id"
	before := query(t, columnar, sql)
	exec(t, columnar, "SET freshet.route = auto") // it does not write bytea in that way
	exec(t, direct, "ALTER SYSTEM SET bytea_output = escape")
	exec(t, direct, "SELECT pg_reload_conf()")
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		want, got := query(t, oltp, sql), query(t, columnar, sql)
		if !slices.Equal(want, before) && slices.Equal(got, want) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a minute after the reload: %q, PostgreSQL says %q, before it was %q", got, want, before)
		}
	}
}
