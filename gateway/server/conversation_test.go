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

// theEnd is the last row that [converse] returns.
const theEnd = `DataRow ["the end"]`

// converse sends the messages, rolls back what they left open, and returns what they are answered by.
func converse(t *testing.T, c *pgx.Conn, ways messages, how sending) []string {
	t.Helper()
	end := messages{&pgproto3.Query{String: "ROLLBACK"}, &pgproto3.Query{String: "SELECT 'the end'"}}
	told := false
	return exchange(t, c, slices.Concat(ways, end), how, func(answer string) bool {
		told = told || answer == theEnd
		return told && strings.HasPrefix(answer, "ReadyForQuery")
	})
}

// sending is how messages are sent.
type sending bool

const (
	together sending = false
	oneByOne sending = true
)

// exchange sends the messages without waiting for answers, and returns what they are answered by up to the last answer. How many answers there are is not known: PostgreSQL skips
// messages behind an error.
func exchange(t *testing.T, c *pgx.Conn, ways messages, how sending, isLast func(string) bool) []string {
	t.Helper()
	var answers []string
	for i, m := range ways {
		c.PgConn().Frontend().Send(m)
		if how == oneByOne || i == len(ways)-1 {
			if err := c.PgConn().Frontend().Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for {
		m, err := c.PgConn().ReceiveMessage(stand.Within(t, 20*time.Second))
		if err != nil {
			t.Fatalf("%s\nafter %q: %v", described(ways), answers, err)
		}
		answer := strings.TrimPrefix(fmt.Sprintf("%T", m), "*pgproto3.")
		switch m := m.(type) {
		case *pgproto3.DataRow:
			answer += fmt.Sprintf(" %q", m.Values)
		case *pgproto3.CommandComplete:
			answer += " " + string(m.CommandTag)
		case *pgproto3.RowDescription:
			for _, f := range m.Fields {
				answer += fmt.Sprintf(" %s %d %d", f.Name, f.DataTypeOID, f.Format)
			}
		case *pgproto3.ErrorResponse:
			answer += " " + m.Code
		case *pgproto3.NoticeResponse:
			answer += " " + m.Code
		case *pgproto3.ParameterStatus:
			answer += " " + m.Name + " " + m.Value
		case *pgproto3.ReadyForQuery:
			answer += " " + string(m.TxStatus)
		}
		answers = append(answers, answer)
		if isLast(answer) {
			return answers
		}
	}
}

// described is what is sent, a message a line.
func described(ways messages) string {
	var b strings.Builder
	for _, m := range ways {
		fmt.Fprintf(&b, "%T %+v\n", m, m)
	}
	return b.String()
}

// portal is an execution of a prepared statement by a portal.
func portal(name, statement string, describe, closes bool, params ...[]byte) messages {
	m := messages{&pgproto3.Bind{DestinationPortal: name, PreparedStatement: statement, Parameters: params}}
	if describe {
		m = append(m, &pgproto3.Describe{ObjectType: 'P', Name: name})
	}
	m = append(m, &pgproto3.Execute{Portal: name})
	if closes {
		m = append(m, &pgproto3.Close{ObjectType: 'P', Name: name})
	}
	return m
}

// once is an execution of a statement without a name.
func once(sql string) messages {
	return append(messages{&pgproto3.Parse{Query: sql}}, portal("", "", false, false)...)
}

// inUnits are parts of what is sent between two Syncs: executions of prepared statements that exist or do not, with parameters that fit or do not, and
// what else the extended protocol has.
var inUnits = []messages{
	portal("", "a", false, false, []byte("7")), portal("", "a", true, false, []byte("8")), portal("", "a", true, true, nil), portal("p", "a", false, true, []byte("7")), portal("", "a", false, false, []byte("x")),
	portal("", "a", true, false), portal("", "b", true, true), portal("", "b", false, false), portal("", "set", true, false), portal("", "none", false, false), portal("", "", false, false),
	{&pgproto3.Parse{Query: "SELECT max(id) FROM account"}}, {&pgproto3.Parse{Name: "b", Query: "SELECT min(id) FROM account"}}, {&pgproto3.Parse{Query: "SELEC"}}, {&pgproto3.Parse{Query: ""}},
	{&pgproto3.Describe{ObjectType: 'S', Name: "a"}}, {&pgproto3.Close{ObjectType: 'S', Name: "b"}}, {&pgproto3.Close{ObjectType: 'S'}}, {&pgproto3.Flush{}}, {&pgproto3.Sync{}}, {&pgproto3.Sync{}},
	once("SAVEPOINT s"), once("ROLLBACK TO SAVEPOINT s"),
	{&pgproto3.Bind{PreparedStatement: "a", ParameterFormatCodes: []int16{1}, Parameters: [][]byte{{0, 0, 0, 9}}, ResultFormatCodes: []int16{1}}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}},
	{&pgproto3.Bind{PreparedStatement: "a", ParameterFormatCodes: []int16{1}, Parameters: [][]byte{{0, 9}}}, &pgproto3.Execute{}},
	{&pgproto3.Bind{PreparedStatement: "b", ResultFormatCodes: []int16{1, 0, 1}}, &pgproto3.Execute{}}, {&pgproto3.Bind{PreparedStatement: "b", ResultFormatCodes: []int16{2}}, &pgproto3.Execute{}},
	portal("", "rows", true, false), {&pgproto3.Bind{PreparedStatement: "rows"}, &pgproto3.Execute{MaxRows: 4}}, {&pgproto3.Bind{PreparedStatement: "rows"}, &pgproto3.Execute{MaxRows: 100}},
	{&pgproto3.Bind{PreparedStatement: "rows"}, &pgproto3.Execute{MaxRows: 4}, &pgproto3.Execute{MaxRows: 4}, &pgproto3.Execute{}}, {&pgproto3.Bind{PreparedStatement: "rows", DestinationPortal: "p"}, &pgproto3.Execute{Portal: "p", MaxRows: 4}},
	{&pgproto3.Execute{Portal: "p", MaxRows: 2}}, {&pgproto3.Execute{Portal: "p", MaxRows: 2}, &pgproto3.Close{ObjectType: 'P', Name: "p"}}, {&pgproto3.Close{ObjectType: 'P', Name: "p"}}, {&pgproto3.Describe{ObjectType: 'P', Name: "p"}},
	{&pgproto3.Bind{PreparedStatement: "rows", DestinationPortal: "p", ResultFormatCodes: []int16{1}}, &pgproto3.Execute{Portal: "p", MaxRows: 4}, &pgproto3.Describe{ObjectType: 'P', Name: "p"}},
}

// ofPortals are parts of what is sent of SQL's cursors for a portal of the protocol.
var ofPortals = func() (parts []messages) {
	for _, sql := range []string{"FETCH 2 FROM p", "MOVE 2 IN p", "MOVE FORWARD ALL IN p", "MOVE 0 IN p", "MOVE ABSOLUTE 5 IN p", "FETCH ABSOLUTE 8 FROM p", "FETCH RELATIVE 2 FROM p", "MOVE RELATIVE 0 IN p",
		"FETCH LAST FROM p", "MOVE BACKWARD 1 IN p", "MOVE BACKWARD ALL IN p", "FETCH 0 FROM p", "CLOSE p"} {
		parts = append(parts, messages{&pgproto3.Query{String: sql}}, once(sql))
	}
	return parts
}()

// ofCursors are parts of what is sent of SQL's cursors.
var ofCursors = func() (parts []messages) {
	for _, sql := range []string{
		"DECLARE c SCROLL CURSOR FOR SELECT id FROM account WHERE id % 100 = 3 ORDER BY id", "DECLARE c CURSOR FOR SELECT id, branch FROM account WHERE id % 100 = 3 ORDER BY id", "DECLARE c CURSOR FOR SELEC",
		"DECLARE d NO SCROLL CURSOR FOR SELECT id FROM account WHERE id % 100 = 3 ORDER BY id", "DECLARE d BINARY CURSOR FOR SELECT max(branch) FROM account", "DECLARE d CURSOR FOR SELECT 1 / (id - 5) FROM account",
		"FETCH c", "FETCH 3 FROM c", "FETCH 3 FROM d", "FETCH ALL FROM d", "MOVE 2 IN c", "FETCH LAST FROM c", "FETCH BACKWARD 2 FROM c", "FETCH RELATIVE 0 FROM d", "FETCH c; FETCH c", "CLOSE c", "CLOSE ALL",
	} {
		parts = append(parts, messages{&pgproto3.Query{String: sql}}, append(append(messages{&pgproto3.Parse{Query: sql}}, portal("", "", true, false)...), &pgproto3.Sync{}))
	}
	return append(parts, append(messages{&pgproto3.Parse{Query: "FETCH 3 FROM c"}}, &pgproto3.Describe{ObjectType: 'S'}, &pgproto3.Bind{ResultFormatCodes: []int16{1}}, &pgproto3.Execute{}, &pgproto3.Sync{}),
		append(messages{&pgproto3.Parse{Query: "FETCH 6 FROM c"}}, &pgproto3.Bind{}, &pgproto3.Execute{MaxRows: 2}, &pgproto3.Execute{MaxRows: 2}, &pgproto3.Execute{}, &pgproto3.Sync{}),
		messages{&pgproto3.Parse{Query: "DECLARE c CURSOR FOR SELECT id FROM account WHERE id > $1::int ORDER BY id LIMIT 9"}, &pgproto3.Bind{Parameters: [][]byte{[]byte("7")}}, &pgproto3.Execute{}, &pgproto3.Sync{}},
		messages{&pgproto3.Execute{Portal: "c", MaxRows: 2}, &pgproto3.Sync{}}, messages{&pgproto3.Describe{ObjectType: 'P', Name: "c"}, &pgproto3.Sync{}}, messages{&pgproto3.Close{ObjectType: 'P', Name: "c"}, &pgproto3.Sync{}})
}()

// twins are a session of PostgreSQL itself and one of the endpoint. During their conversations there is a row more than while they are prepared.
type twins struct {
	t     *testing.T
	g     *gateway
	sides [2]*pgx.Conn
	other *pgx.Conn
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	g := start(t, accounts, nextOf)
	return &twins{t: t, g: g, other: g.connect(g.oltp.URL("postgres"))}
}

// compare has both sides hold a conversation, begun by what prepares them, and reports whether the endpoint refused a part of it. Up to there the answers
// must be the same.
func (w *twins) compare(r *rapid.T, ways messages, prepare ...string) (refused bool) {
	w.t.Helper()
	var answers [2][]string
	how := sending(rapid.Bool().Draw(r, "one by one"))
	for i := range w.sides {
		if w.sides[i] == nil || w.sides[i].IsClosed() {
			if i == 0 {
				w.sides[i] = w.g.connect(w.g.oltp.URL("postgres"))
			} else {
				w.sides[i] = w.g.client()
			}
		}
		c := w.sides[i]
		for _, sql := range []string{"DISCARD ALL", "SET freshet.freshness = strong"} {
			exec(w.t, c, sql)
		}
		for name, sql := range map[string]string{"a": "SELECT count(*), $1::int FROM account WHERE branch >= 0", "b": "SELECT max(branch) FROM account", "rows": "SELECT id FROM account WHERE id % 100 = 3 ORDER BY id", "set": "SET LOCAL work_mem = '9MB'"} {
			if _, err := c.PgConn().Prepare(w.t.Context(), name, sql, nil); err != nil {
				w.t.Fatal(err)
			}
		}
		for _, sql := range prepare {
			exec(w.t, c, sql)
		}
		exec(w.t, w.other, "INSERT INTO account VALUES (1001, 10, 100)")
		answers[i] = converse(w.t, c, ways, how)
		exec(w.t, w.other, "DELETE FROM account WHERE id = 1001")
	}
	want, got := answers[0], answers[1]
	same := 0
	for same < min(len(want), len(got)) && want[same] == got[same] {
		same++
	}
	if same < len(got) && isRefusal(got[same], ways) {
		want, got, refused = want[:min(same, len(want))], got[:same], true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("%s\nanswered otherwise than by PostgreSQL (-want +got):\n%s", described(ways), diff)
	}
	return refused
}

// isRefusal reports whether an answer that is not PostgreSQL's may be the endpoint's refusal. Where the messages ask for the columnar route alone, it is that of
// what the engine fails on, too.
func isRefusal(answer string, ways messages) bool {
	return answer == "ErrorResponse 0A000" || answer == "ErrorResponse 55000" && strings.Contains(described(ways), "freshet.route = 'columnar'")
}

// withoutStalePortal leaves out parts that execute the portal without a name, and nothing else, behind a simple query. If that failed, the portal is its own,
// and PostgreSQL reads there what it has freed: it may crash.
func withoutStalePortal(parts []messages) []messages {
	queried := false
	return slices.DeleteFunc(slices.Clone(parts), func(part messages) bool {
		switch m := part[0].(type) {
		case *pgproto3.Query:
			queried = true
		case *pgproto3.Execute:
			return queried && m.Portal == ""
		}
		return false
	})
}

// Whatever messages come in whatever order within a block on a columnar snapshot, they are answered as by PostgreSQL, up to one that is refused.
func TestGateway_answersAnyPipelineInABlockAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	pool := append([]messages{{&pgproto3.Execute{MaxRows: 3}}, {&pgproto3.Execute{}}, {&pgproto3.Query{String: "SELECT sum(branch) FROM account"}}, {&pgproto3.Query{String: "SET LOCAL work_mem = '8MB'"}}}, slices.Concat(inUnits, ofPortals)...)
	refused, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		ways := slices.Concat(withoutStalePortal(rapid.SliceOfN(rapid.SampledFrom(pool), 1, 10).Draw(r, "messages"))...)
		if rapid.Bool().Draw(r, "commit") { // last: PostgreSQL itself is led astray by a simple query that follows it and others without a Sync
			ways = append(ways, once("COMMIT")...)
		}
		all++
		if w.compare(r, append(ways, &pgproto3.Sync{}), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "SELECT count(*) FROM account") {
			refused++
		}
	})
	if refused > all/2 {
		t.Errorf("%d of %d pipelines were refused", refused, all)
	}
}

// Whatever a session does with cursors in a block on a columnar snapshot, or one that may begin to read it, and outside of blocks, it is answered as by PostgreSQL.
func TestGateway_movesAnyCursorAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	pool := ofCursors
	for _, sql := range []string{"SELECT sum(branch) FROM account", "SAVEPOINT s", "ROLLBACK TO SAVEPOINT s", "RELEASE SAVEPOINT s", "SET LOCAL DateStyle = 'German'", "SELECT name FROM pg_cursors", "SELECT branch FROM account TABLESAMPLE BERNOULLI (0)",
		"DECLARE c NO SCROLL CURSOR WITH HOLD FOR SELECT id, branch FROM account WHERE id % 100 = 3 ORDER BY id", "DECLARE d CURSOR WITH HOLD FOR SELECT max(branch) FROM account", "DECLARE d BINARY CURSOR WITH HOLD FOR SELECT id FROM account WHERE id > 995 ORDER BY id",
		"SELECT name, is_holdable, is_binary, is_scrollable FROM pg_cursors ORDER BY name", "SELECT next_of('c')", "UPDATE account SET branch = branch WHERE CURRENT OF c", "BEGIN", "BEGIN READ ONLY", "COMMIT", "ROLLBACK"} {
		pool = append(pool, messages{&pgproto3.Query{String: sql}})
	}
	refused, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		ways := slices.Concat(rapid.SliceOfN(rapid.SampledFrom(pool), 2, 12).Draw(r, "messages")...)
		begin := []string{rapid.SampledFrom([]string{"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN READ ONLY", "DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT id FROM account WHERE id > 990 ORDER BY id"}).Draw(r, "begin")}
		for _, sql := range []string{"SELECT count(*) FROM account", "DECLARE c SCROLL CURSOR FOR SELECT id FROM account WHERE id > 990 ORDER BY id"} {
			if strings.HasPrefix(begin[0], "BEGIN") && rapid.Bool().Draw(r, sql) {
				begin = append(begin, sql)
			}
		}
		all++
		if w.compare(r, ways, begin...) {
			refused++
		}
	})
	if refused > all/2 {
		t.Errorf("%d of %d sessions met a refusal", refused, all)
	}
}

// Whatever a session does, units of the extended protocol and simple queries by turns, in blocks of all kinds and outside, it is answered as by PostgreSQL.
func TestGateway_answersAnySessionAsPostgreSQLDoes(t *testing.T) {
	t.Parallel()
	w := newTwins(t)
	queries := []string{
		"BEGIN", "BEGIN READ ONLY", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "START TRANSACTION ISOLATION LEVEL SERIALIZABLE READ ONLY", "COMMIT", "COMMIT", "ROLLBACK", "SET TRANSACTION READ ONLY",
		"SELECT sum(branch) FROM account", "SELECT count(*) FROM account WHERE id % 7 = 1", "SELECT sum(branch) FROM account; SELECT max(id) FROM account", "SELECT count(*) FROM account WHERE 1 / (id - 5) > 0", "SELECT 1 / 0",
		"UPDATE account SET branch = branch WHERE id = 1", "SELEC", "SAVEPOINT s", "ROLLBACK TO SAVEPOINT s", "DEALLOCATE a", "PREPARE b AS SELECT 2", "EXECUTE b", "DISCARD ALL",
		"SET TimeZone = 'Asia/Tokyo'", "SET LOCAL IntervalStyle = 'iso_8601'", "SET extra_float_digits = 0", "SET freshet.route = 'columnar'", "SET freshet.route = 'oltp'", "SHOW work_mem", "SELECT max(branch), min('2024-03-01 12:00+00'::timestamptz) FROM account",
		"DECLARE c CURSOR FOR SELECT id FROM account ORDER BY id", "FETCH 2 FROM c", "DECLARE h CURSOR WITH HOLD FOR SELECT id FROM account ORDER BY id", "FETCH 2 FROM h", "CLOSE p", "CREATE TEMP TABLE account2 (id int)", "DO $$BEGIN PERFORM 1; END$$",
	}
	units := append([]messages{once("BEGIN READ ONLY"), once("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"), once("BEGIN"), once("COMMIT"), once("UPDATE account SET branch = branch WHERE id = 1")}, inUnits...)
	var pool []messages
	for _, sql := range queries {
		pool = append(pool, messages{&pgproto3.Query{String: sql}}, append(once(sql), &pgproto3.Sync{}))
	}
	refused, all := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		var ways messages
		for _, part := range rapid.SliceOfN(rapid.IntRange(0, len(pool)), 1, 12).Draw(r, "parts") {
			if part < len(pool) {
				ways = append(ways, pool[part]...)
				continue
			}
			ways = slices.Concat(append([]messages{ways}, rapid.SliceOfN(rapid.SampledFrom(units), 1, 5).Draw(r, "unit")...)...)
			ways = append(ways, &pgproto3.Sync{})
		}
		all++
		if w.compare(r, ways) {
			refused++
		}
	})
	if refused > all/2 {
		t.Errorf("%d of %d sessions met a refusal", refused, all)
	}
}
