package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"pgregory.net/rapid"
)

// manyItems are more than a session keeps of a result in memory.
const manyItems = "CREATE TABLE item (id int PRIMARY KEY, name text NOT NULL); INSERT INTO item SELECT i, repeat('x', 100) FROM generate_series(1, 30000) i"

// A result that a client reads in pieces comes from the replica, whatever happens between two of them, and is gone with its block.
func TestGateway_readsAResultInPiecesFromTheReplica(t *testing.T) {
	t.Parallel()
	g := start(t, manyItems)
	direct := g.connect(g.oltp.URL("postgres"))
	for _, begin := range []string{"BEGIN READ ONLY", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"} {
		c := g.client()
		exec(t, c, "SET freshet.freshness = strong") // the rows that were put back for it
		if _, err := c.PgConn().Prepare(t.Context(), "a", "SELECT id, name FROM item ORDER BY id", nil); err != nil {
			t.Fatal(err)
		}
		exec(t, c, begin)
		first := untilReady(t, c, messages{&pgproto3.Bind{PreparedStatement: "a", DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 700}, &pgproto3.Sync{}})
		if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
			t.Fatalf("%s: route %s: %s", begin, route, one(t, c, "SHOW freshet.last_reason"))
		}
		exec(t, direct, "DELETE FROM item WHERE id > 29000")
		rows, pieces := rowsOf(first), 1
		for more := first; strings.Contains(strings.Join(more, ";"), "PortalSuspended"); pieces++ {
			if n := one(t, c, "SELECT count(*) FROM item"); begin != "BEGIN READ ONLY" && n != "30000" {
				t.Fatalf("%s: %s rows between two pieces", begin, n)
			}
			more = untilReady(t, c, messages{&pgproto3.Execute{Portal: "p", MaxRows: 700}, &pgproto3.Sync{}})
			rows += rowsOf(more)
		}
		if rows != 30000 || pieces != 43 {
			t.Errorf("%s: %d rows in %d pieces", begin, rows, pieces)
		}
		exec(t, c, "COMMIT")
		after := untilReady(t, c, messages{&pgproto3.Execute{Portal: "p"}, &pgproto3.Sync{}})
		if after[0] != "ErrorResponse 34000" {
			t.Errorf("%s: after the block: %q", begin, after)
		}
		exec(t, direct, "INSERT INTO item SELECT i, repeat('x', 100) FROM generate_series(29001, 30000) i")
	}
}

// A driver may bind a portal and have a Sync come before what it executes (cursors of asyncpg). In a block that reads the replica's snapshot
// its rows are of that.
func TestGateway_bindsAPortalForLater(t *testing.T) {
	t.Parallel()
	g := start(t, manyItems)
	direct, c := g.connect(g.oltp.URL("postgres")), g.client()
	if _, err := c.PgConn().Prepare(t.Context(), "a", "SELECT id, name FROM item ORDER BY id", nil); err != nil {
		t.Fatal(err)
	}
	exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
	if n, route := one(t, c, "SELECT count(*) FROM item"), one(t, c, "SHOW freshet.last_route"); n != "30000" || route != "columnar" {
		t.Fatalf("%s rows by route %s", n, route)
	}
	exec(t, direct, "DELETE FROM item WHERE id > 100")
	for name, opening := range map[string]messages{
		"p": {&pgproto3.Bind{PreparedStatement: "a", DestinationPortal: "p"}, &pgproto3.Sync{}},
		"d": {&pgproto3.Bind{PreparedStatement: "a", DestinationPortal: "d"}, &pgproto3.Describe{ObjectType: 'P', Name: "d"}, &pgproto3.Sync{}},
		"f": {&pgproto3.Bind{PreparedStatement: "a", DestinationPortal: "f"}, &pgproto3.Flush{}, &pgproto3.Sync{}},
	} {
		want := []string{"BindComplete", "ReadyForQuery T"}
		if name == "d" {
			want = []string{"BindComplete", "RowDescription", "ReadyForQuery T"}
		}
		got := untilReady(t, c, opening)
		if !slices.EqualFunc(got, want, strings.HasPrefix) {
			t.Fatalf("%s: %q, want %q", name, got, want)
		}
		if n := one(t, c, "SELECT count(*) FROM item"); n != "30000" {
			t.Errorf("%s: %s rows between", name, n)
		}
		for _, limit := range []uint32{700, 0} {
			got := untilReady(t, c, messages{&pgproto3.Execute{Portal: name, MaxRows: limit}, &pgproto3.Sync{}})
			if rows, want := rowsOf(got), map[uint32]int{700: 700, 0: 29300}[limit]; rows != want {
				t.Errorf("%s: %d rows, want %d, and %q", name, rows, want, got[len(got)-2:])
			}
		}
	}
	exec(t, c, "COMMIT")
}

// Outside of a block nothing is left to read on: the query ends with the rows that were asked for.
func TestGateway_answersUpToARowLimit(t *testing.T) {
	t.Parallel()
	g := start(t, manyItems)
	c := g.client()
	if _, err := c.PgConn().Prepare(t.Context(), "a", "SELECT id, name FROM item ORDER BY id", nil); err != nil {
		t.Fatal(err)
	}
	if route := one(t, c, "SHOW freshet.last_route"); route == "columnar" {
		t.Fatal("a statement took the replica before")
	}
	answers := untilReady(t, c, messages{&pgproto3.Bind{PreparedStatement: "a"}, &pgproto3.Execute{MaxRows: 700}, &pgproto3.Sync{}})
	if n := rowsOf(answers); n != 700 || !strings.Contains(strings.Join(answers, ";"), "PortalSuspended") {
		t.Errorf("%d rows, and %q", n, answers[len(answers)-2:])
	}
	if route, at := one(t, c, "SHOW freshet.last_route"), one(t, c, "SHOW freshet.snapshot"); route != "columnar" || at == "" {
		t.Errorf("route %q (%s), snapshot %q", route, one(t, c, "SHOW freshet.last_reason"), at)
	}
}

// untilReady sends the messages of one unit, and returns what they are answered by.
func untilReady(t *testing.T, c *pgx.Conn, ways messages) []string {
	t.Helper()
	return exchange(t, c, ways, together, func(answer string) bool { return strings.HasPrefix(answer, "ReadyForQuery") })
}

func rowsOf(answers []string) (n int) {
	for _, a := range answers {
		if strings.HasPrefix(a, "DataRow") {
			n++
		}
	}
	return n
}

// SQL moves a portal of the protocol by its name (asyncpg's Cursor.forward), and reads it, as if it was a cursor that goes forward.
func TestGateway_movesAPortalAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	pool := append([]messages{{&pgproto3.Execute{Portal: "p", MaxRows: 3}}, {&pgproto3.Execute{Portal: "p"}}, {&pgproto3.Execute{Portal: "p", MaxRows: 100}}}, ofPortals...)
	refused, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		ways := messages{&pgproto3.Bind{PreparedStatement: "rows", DestinationPortal: "p"}}
		if n := rapid.Uint32Range(0, 12).Draw(r, "rows at once"); n > 0 {
			ways = append(ways, &pgproto3.Execute{Portal: "p", MaxRows: n})
		}
		ways = append(ways, &pgproto3.Sync{})
		for _, part := range rapid.SliceOfN(rapid.SampledFrom(pool), 1, 6).Draw(r, "then") {
			ways = append(ways, part...)
			if _, simple := part[0].(*pgproto3.Query); !simple {
				ways = append(ways, &pgproto3.Sync{})
			}
		}
		all++
		begin := rapid.SampledFrom([]string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN READ ONLY"}).Draw(r, "begin")
		if w.compare(r, ways, begin, "SELECT count(*) FROM account") {
			refused++
		}
	})
	if refused > all/2 {
		t.Errorf("%d of %d conversations were refused", refused, all)
	}
}
