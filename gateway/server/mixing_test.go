package server_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

// Once a block reads from a columnar snapshot, nothing in it may read from PostgreSQL's, whichever way it is sent.
func TestGateway_readsOneSnapshotInABlock(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	direct := g.connect(g.oltp.URL("postgres"))
	const sum = "SELECT count(*) FROM account WHERE branch >= 0"
	bind, execute, sync := &pgproto3.Bind{PreparedStatement: "a"}, &pgproto3.Execute{}, &pgproto3.Sync{}
	for name, ways := range map[string][]pgproto3.FrontendMessage{
		"a pipeline":              {bind, execute, bind, execute, sync},
		"a parse after it":        {bind, execute, &pgproto3.Parse{Query: sum}, bind, execute, sync},
		"a flush":                 {bind, execute, &pgproto3.Flush{}, sync},
		"a row limit":             {bind, &pgproto3.Execute{MaxRows: 1}, sync},
		"no execution":            {bind, sync, execute, sync},
		"a portal":                {&pgproto3.Bind{PreparedStatement: "a", DestinationPortal: "p"}, &pgproto3.Sync{}, &pgproto3.Execute{Portal: "p"}, sync},
		"the route":               {&pgproto3.Query{String: "SET LOCAL freshet.route = oltp"}, &pgproto3.Query{String: sum}},
		"the route, extended":     {&pgproto3.Query{String: "SET LOCAL freshet.route = oltp"}, bind, execute, sync},
		"after a setting":         {&pgproto3.Parse{Query: "SET LOCAL work_mem = '8MB'"}, &pgproto3.Bind{}, execute, bind, execute, sync},
		"a query in the middle":   {bind, execute, &pgproto3.Query{String: sum}, sync},
		"a statement of its own":  {&pgproto3.Parse{Query: sum}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, execute, sync},
		"an execution and commit": {bind, execute, &pgproto3.Parse{Query: "COMMIT"}, &pgproto3.Bind{}, execute, sync},
	} {
		c := g.client()
		exec(t, c, "SET freshet.freshness = strong")
		if _, err := c.PgConn().Prepare(t.Context(), "a", sum, nil); err != nil {
			t.Fatal(err)
		}
		exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
		want := one(t, c, sum)
		if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
			t.Fatalf("%s: the block reads from %s", name, route)
		}
		exec(t, direct, "INSERT INTO account SELECT max(id) + 1, 3, 100 FROM account")
		syncs := 0
		for _, m := range ways {
			c.PgConn().Frontend().Send(m)
			switch m.(type) {
			case *pgproto3.Sync, *pgproto3.Query:
				syncs++
			}
		}
		if err := c.PgConn().Frontend().Flush(); err != nil {
			t.Fatal(err)
		}
		if name == "a query in the middle" { // the Query is skipped up to Sync where the execution before it is refused
			syncs--
		}
		for syncs > 0 {
			m, err := c.PgConn().ReceiveMessage(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			switch m := m.(type) {
			case *pgproto3.DataRow:
				if got := string(m.Values[0]); got != want {
					t.Errorf("%s: the block counts %s, and %s before", name, got, want)
				}
			case *pgproto3.ErrorResponse:
				if !slices.Contains([]string{"0A000", "25P02", "34000", "55000"}, m.Code) { // refused, and what follows in the failed block
					t.Errorf("%s: %s %s", name, m.Code, m.Message)
				}
			case *pgproto3.ReadyForQuery:
				syncs--
			}
		}
		exec(t, c, "ROLLBACK")
		if want, got := one(t, direct, sum), one(t, c, sum); got != want {
			t.Errorf("%s: afterwards the session counts %s, there are %s", name, got, want)
		}
	}
}

// What a cursor's query sets and what isolation a block had, the next statement knows.
func TestGateway_noticesWhatBlocksAndCursorsChange(t *testing.T) {
	t.Parallel()
	g := start(t, "CREATE TABLE f (id int PRIMARY KEY, v float8); INSERT INTO f VALUES (1, 333.33), (2, 1)")
	c, oltp := g.client(), g.client()
	exec(t, oltp, "SET freshet.route = oltp")
	const sql = "SELECT max(v) FROM f"
	columnar := func(after string) {
		t.Helper()
		wantSameAnswer(t, c, oltp, sql)
		if r := one(t, c, "SHOW freshet.last_route"); r != "columnar" {
			t.Errorf("after %s the last route is %q: %s", after, r, one(t, c, "SHOW freshet.last_reason"))
		}
	}
	columnar("nothing")
	for _, opening := range []string{"BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN READ ONLY"} {
		exec(t, c, opening)
		_ = one(t, c, sql)
		exec(t, c, "COMMIT")
		columnar(opening)
	}
	for _, conn := range []*pgx.Conn{c, oltp} {
		exec(t, conn, "BEGIN")
		exec(t, conn, "DECLARE x CURSOR FOR SELECT set_config('extra_float_digits', '-10', false)")
		exec(t, conn, "FETCH x")
		exec(t, conn, "COMMIT")
	}
	wantSameAnswer(t, c, oltp, sql)
}
