package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/e2e/stand"
)

type messages = []pgproto3.FrontendMessage

// Once a block reads from a columnar snapshot, nothing in it may read from PostgreSQL's, whichever way it is sent. What can run on the snapshot does, and
// is answered message by message as by PostgreSQL; the rest is refused.
func TestGateway_readsOneSnapshotInABlock(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	direct := g.connect(g.oltp.URL("postgres"))
	const sum = "SELECT count(*) FROM account WHERE branch >= 0"
	bind, execute, sync := &pgproto3.Bind{PreparedStatement: "a"}, &pgproto3.Execute{}, &pgproto3.Sync{}
	unnamed := func(sql string) messages {
		return messages{&pgproto3.Parse{Query: sql}, &pgproto3.Bind{}, execute}
	}
	all := slices.Concat[messages]
	for name, test := range map[string]struct {
		ways    messages
		refused bool
	}{
		"a pipeline":              {ways: messages{bind, execute, bind, execute, sync}},
		"a parse after it":        {ways: messages{bind, execute, &pgproto3.Parse{Query: sum}, bind, execute, sync}},
		"a flush":                 {ways: messages{bind, execute, &pgproto3.Flush{}, bind, &pgproto3.Describe{ObjectType: 'P'}, execute, &pgproto3.Close{ObjectType: 'P'}, &pgproto3.Flush{}, sync}},
		"after a setting":         {ways: all(unnamed("SET LOCAL work_mem = '8MB'"), messages{bind, execute}, unnamed("SHOW work_mem"), messages{bind, execute, sync})},
		"a query in the middle":   {ways: messages{bind, execute, &pgproto3.Query{String: sum}, sync}},
		"a query after a parse":   {ways: messages{&pgproto3.Parse{Query: sum}, &pgproto3.Query{String: sum}, bind, execute, sync}},
		"a setting after a parse": {ways: messages{&pgproto3.Parse{Query: sum}, &pgproto3.Query{String: "SET LOCAL work_mem = '8MB'"}, bind, execute, sync}},
		"a statement of its own":  {ways: messages{&pgproto3.Parse{Query: sum}, &pgproto3.Bind{}, &pgproto3.Describe{ObjectType: 'P'}, execute, sync}},
		"an execution and commit": {ways: all(messages{bind, execute}, unnamed("COMMIT"), messages{sync})},
		"an empty statement":      {ways: all(messages{bind, execute}, unnamed("-- "), messages{bind, execute, sync})},
		"an error of syntax":      {ways: messages{bind, execute, &pgproto3.Parse{Query: "SELEC"}, bind, execute, sync, bind, execute, sync}},
		"an error in PostgreSQL":  {ways: all(messages{bind, execute}, unnamed("SET LOCAL work_mem = 'much'"), messages{bind, execute, sync})},
		"a write":                 {ways: all(messages{bind, execute}, unnamed("DELETE FROM account"), messages{bind, execute, sync})},
		"a savepoint": {ways: all(messages{bind, execute}, unnamed("SAVEPOINT s"), messages{bind, execute, &pgproto3.Parse{Query: "SELEC"}, execute, sync},
			unnamed("ROLLBACK TO SAVEPOINT s"), messages{bind, execute, sync})},
		"a row limit":         {ways: messages{bind, &pgproto3.Execute{MaxRows: 1}, sync}, refused: true},
		"no execution":        {ways: messages{bind, sync, execute, sync}, refused: true},
		"a portal":            {ways: messages{&pgproto3.Bind{PreparedStatement: "a", DestinationPortal: "p"}, &pgproto3.Sync{}, &pgproto3.Execute{Portal: "p"}, sync}, refused: true},
		"the route":           {ways: messages{&pgproto3.Query{String: "SET LOCAL freshet.route = oltp"}, &pgproto3.Query{String: sum}}, refused: true},
		"the route, extended": {ways: messages{&pgproto3.Query{String: "SET LOCAL freshet.route = oltp"}, bind, execute, sync}, refused: true},
		"an error of a value": {ways: all(messages{bind, execute}, unnamed("SELECT 1 / (count(*) - count(*)) FROM account"), messages{bind, execute, sync, bind, execute, sync}), refused: true},
		"another function":    {ways: all(messages{bind, execute}, unnamed("SELECT count(pg_backend_pid()) FROM account"), messages{bind, execute, sync}), refused: true},
	} {
		c, plain := g.client(), g.connect(g.oltp.URL("postgres"))
		exec(t, c, "SET freshet.freshness = strong")
		for _, conn := range []*pgx.Conn{c, plain} {
			if _, err := conn.PgConn().Prepare(t.Context(), "a", sum, nil); err != nil {
				t.Fatal(err)
			}
			exec(t, conn, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
		}
		want := one(t, c, sum)
		if equal := one(t, plain, sum); equal != want {
			t.Fatalf("%s: the block counts %s, PostgreSQL %s", name, want, equal)
		}
		if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
			t.Fatalf("%s: the block reads from %s", name, route)
		}
		exec(t, direct, "INSERT INTO account SELECT max(id) + 1, 3, 100 FROM account")
		got := converse(t, c, test.ways)
		if test.refused {
			for _, m := range got {
				kind, value, _ := strings.Cut(m, " ")
				// Refused, and what follows in the failed block.
				if kind == "DataRow" && value != fmt.Sprintf("%q", [][]byte{[]byte(want)}) || kind == "ErrorResponse" && !slices.Contains([]string{"0A000", "25P02", "34000", "55000"}, value) {
					t.Errorf("%s: %s", name, m)
				}
			}
			if !slices.Contains(got, "ErrorResponse 0A000") {
				t.Errorf("%s: not refused: %q", name, got)
			}
		} else if diff := cmp.Diff(converse(t, plain, test.ways), got); diff != "" {
			t.Errorf("%s: answered otherwise than by PostgreSQL (-want +got):\n%s", name, diff)
		}
		exec(t, c, "ROLLBACK")
		if want, got := one(t, direct, sum), one(t, c, sum); got != want {
			t.Errorf("%s: afterwards the session counts %s, there are %s", name, got, want)
		}
	}
}

// converse sends the messages at once, and returns what they are answered by. An empty query tells the end: PostgreSQL answers it also in a block that has
// failed, and skips no more than what is before the last Sync.
func converse(t *testing.T, c *pgx.Conn, ways messages) []string {
	t.Helper()
	var answers []string
	for _, m := range append(slices.Clone(ways), &pgproto3.Query{}) {
		c.PgConn().Frontend().Send(m)
	}
	if err := c.PgConn().Frontend().Flush(); err != nil {
		t.Fatal(err)
	}
	for ended := false; ; {
		m, err := c.PgConn().ReceiveMessage(stand.Within(t, time.Minute))
		if err != nil {
			t.Fatalf("after %q: %v", answers, err)
		}
		answer := strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
		switch m := m.(type) {
		case *pgproto3.DataRow:
			answer += fmt.Sprintf(" %q", m.Values)
		case *pgproto3.CommandComplete:
			answer += " " + string(m.CommandTag)
		case *pgproto3.ErrorResponse:
			answer += " " + m.Code
		case *pgproto3.EmptyQueryResponse: // one of the extended protocol follows its BindComplete
			ended = len(answers) == 0 || strings.HasPrefix(answers[len(answers)-1], "ReadyForQuery")
		case *pgproto3.ReadyForQuery:
			answer += " " + string(m.TxStatus)
			if ended {
				return append(answers, answer)
			}
		}
		answers = append(answers, answer)
	}
}

// A batch of statements within a block reads the block's snapshot, as each of them alone.
func TestGateway_runsABatchOnTheBlocksSnapshot(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	c := g.client()
	tx, err := c.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	const sum = "SELECT sum(balance)::bigint FROM account WHERE branch >= $1"
	var want int64
	if err := tx.QueryRow(t.Context(), sum, 0).Scan(&want); err != nil {
		t.Fatal(err)
	}
	exec(t, g.connect(g.oltp.URL("postgres")), "UPDATE account SET balance = balance + 1")
	var b pgx.Batch
	got := make([]int64, 3)
	for i := range got {
		b.Queue(sum, 0).QueryRow(func(row pgx.Row) error { return row.Scan(&got[i]) })
	}
	if err := tx.SendBatch(t.Context(), &b).Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{want, want, want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if route := one(t, c, "SHOW freshet.last_route"); route != "columnar" {
		t.Errorf("the batch read from %s", route)
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

// Whatever messages come in whatever order within a block on a columnar snapshot, they are answered as by PostgreSQL, up to one that is refused.
func TestGateway_answersAnyPipelineInABlockAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	g := start(t, accounts)
	const sum = "SELECT count(*), $1::int FROM account WHERE branch >= 0"
	run := func(portal, statement string, describe, closes bool, params ...[]byte) messages {
		m := messages{&pgproto3.Bind{DestinationPortal: portal, PreparedStatement: statement, Parameters: params}}
		if describe {
			m = append(m, &pgproto3.Describe{ObjectType: 'P', Name: portal})
		}
		m = append(m, &pgproto3.Execute{Portal: portal})
		if closes {
			m = append(m, &pgproto3.Close{ObjectType: 'P', Name: portal})
		}
		return m
	}
	pool := []messages{
		run("", "a", false, false, []byte("7")), run("", "a", true, false, []byte("8")), run("", "a", true, true, nil), run("p", "a", false, true, []byte("7")), run("", "a", false, false, []byte("x")),
		run("", "a", true, false), run("", "b", true, true), run("", "b", false, false), run("", "set", true, false), run("", "none", false, false), run("", "", false, false),
		{&pgproto3.Parse{Query: "SELECT max(id) FROM account"}}, {&pgproto3.Parse{Name: "b", Query: "SELECT min(id) FROM account"}}, {&pgproto3.Parse{Query: "SELEC"}}, {&pgproto3.Parse{Query: "SAVEPOINT s"}}, {&pgproto3.Parse{Query: ""}},
		{&pgproto3.Describe{ObjectType: 'S', Name: "a"}}, {&pgproto3.Close{ObjectType: 'S', Name: "b"}}, {&pgproto3.Close{ObjectType: 'S'}}, {&pgproto3.Flush{}}, {&pgproto3.Sync{}}, {&pgproto3.Sync{}},
		{&pgproto3.Query{String: "SELECT sum(branch) FROM account"}}, {&pgproto3.Query{String: "SET LOCAL work_mem = '8MB'"}},
		append(messages{&pgproto3.Parse{Query: "SAVEPOINT s"}}, run("", "", false, false)...), append(messages{&pgproto3.Parse{Query: "ROLLBACK TO SAVEPOINT s"}}, run("", "", false, false)...),
	}
	var sides [2]*pgx.Conn
	open := func(i int) *pgx.Conn {
		if sides[i] == nil || sides[i].IsClosed() {
			sides[i] = []func() *pgx.Conn{g.client, func() *pgx.Conn { return g.connect(g.oltp.URL("postgres")) }}[i]()
		}
		c := sides[i]
		exec(t, c, "ROLLBACK")
		exec(t, c, "DEALLOCATE ALL")
		for name, sql := range map[string]string{"a": sum, "b": "SELECT max(branch) FROM account", "set": "SET LOCAL work_mem = '9MB'", "commit": "COMMIT"} {
			if _, err := c.PgConn().Prepare(t.Context(), name, sql, nil); err != nil {
				t.Fatal(err)
			}
		}
		exec(t, c, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
		_ = one(t, c, "SELECT count(*) FROM account")
		return c
	}
	refused, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		ways := slices.Concat(rapid.SliceOfN(rapid.SampledFrom(pool), 1, 10).Draw(r, "messages")...)
		if rapid.Bool().Draw(r, "commit") { // last: PostgreSQL itself is led astray by a simple query that follows it and others without a Sync
			ways = append(ways, run("", "commit", false, false)...)
		}
		ways = append(ways, &pgproto3.Sync{})
		want, got := converse(t, open(1), ways), converse(t, open(0), ways)
		all++
		if i := slices.Index(got, "ErrorResponse 0A000"); i >= 0 {
			want, got = want[:min(i, len(want))], got[:i]
			refused++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Fatalf("answered otherwise than by PostgreSQL (-want +got):\n%s", diff)
		}
	})
	if refused > all/2 {
		t.Errorf("%d of %d pipelines were refused", refused, all)
	}
}
