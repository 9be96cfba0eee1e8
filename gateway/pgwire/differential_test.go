package pgwire_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"
)

// sourceOfError matches the fields of an error that tell where in PostgreSQL's source it was raised: a columnar
// replica's error has none.
var sourceOfError = regexp.MustCompile(`\x00F[^\x00]+\x00L\d+\x00R[^\x00]+`)

type message interface{ Encode([]byte) ([]byte, error) }

// step sends messages in one write and reads until so many ReadyForQuery came, and one message of kind until.
type step struct {
	send  []message
	ready int
	until byte
}

func say(ready int, messages ...message) step { return step{send: messages, ready: ready} }

func ask(sql string) step { return say(1, &pgproto3.Query{String: sql}) }

func askMany(sqls ...string) []step {
	var steps []step
	for _, sql := range sqls {
		steps = append(steps, ask(sql))
	}
	return steps
}

func parse(name, sql string, oids ...uint32) message {
	return &pgproto3.Parse{Name: name, Query: sql, ParameterOIDs: oids}
}

func bind(portal, name string, formats []int16, values ...[]byte) message {
	return &pgproto3.Bind{DestinationPortal: portal, PreparedStatement: name, Parameters: values, ResultFormatCodes: formats}
}

func describe(kind byte, name string) message {
	return &pgproto3.Describe{ObjectType: kind, Name: name}
}
func execute(portal string, rows uint32) message {
	return &pgproto3.Execute{Portal: portal, MaxRows: rows}
}
func closing(kind byte, name string) message { return &pgproto3.Close{ObjectType: kind, Name: name} }

var (
	sync1 = &pgproto3.Sync{}
	flush = &pgproto3.Flush{}
)

// transcript runs a script on a new connection and returns the messages that came back, one per line.
func transcript(t *testing.T, url string, steps []step) []string {
	t.Helper()
	conn := hijack(t, connect(t, url))
	defer conn.Close()
	var lines []string
	for i, st := range steps {
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		var b []byte
		for _, m := range st.send {
			var err error
			if b, err = m.Encode(b); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("step %d", i))
		for ready, seen := 0, st.until == 0; ready < st.ready || !seen; {
			kind, body, err := readMessage(conn)
			if err != nil {
				return append(lines, "end: "+strings.Join(lines[max(0, len(lines)-3):], " | ")+err.Error())
			}
			if kind == 'Z' {
				ready++
			}
			seen = seen || kind == st.until
			lines = append(lines, fmt.Sprintf("%c %q", kind, sourceOfError.ReplaceAll(body, nil)))
		}
	}
	return lines
}

func readMessage(r io.Reader) (byte, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := int(head[1])<<24 | int(head[2])<<16 | int(head[3])<<8 | int(head[4])
	body := make([]byte, n-4)
	_, err := io.ReadFull(r, body)
	return head[0], body, err
}

const (
	columnar = "/* columnar */ "
	series   = columnar + "SELECT g, 'row ' || g AS label, CASE WHEN g % 3 = 0 THEN NULL ELSE g / 2.0 END FROM generate_series(1, 7) g"
)

func scripts() map[string][]step {
	text := []int16{0}
	big := columnar + "SELECT g, repeat('x', 1000) FROM generate_series(1, 500) g"
	return map[string][]step{
		"simple": askMany("SELECT 1", series, "SELECT 1; SELECT 2", "", ";", "SELECT 1/0", series, "VALUES (1), (2)", "COMMIT", "nonsense",
			columnar+"SELECT nosuch FROM pg_class", columnar+"SELECT 1/0 FROM pg_class", columnar+"SELECT $1::int", columnar+"SELECT FROM generate_series(1,2)"),
		"settings": askMany("SET DateStyle = 'German'", columnar+"SELECT date '2020-01-31'", "SET TimeZone = 'Asia/Tokyo'",
			columnar+"SELECT timestamptz '2020-01-01 00:00:00Z'", "SHOW TimeZone", "RESET ALL", columnar+"SELECT timestamptz '2020-01-01 00:00:00Z'"),
		"transactions": append(askMany("BEGIN", series, "SELECT nosuch", series, "ROLLBACK", "BEGIN READ ONLY", series, "CREATE TABLE t()", series, "COMMIT",
			"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", series, series, "SELECT 1", "COMMIT", "BEGIN READ ONLY", columnar+"SELECT nosuch", "ROLLBACK"),
			say(3, &pgproto3.Query{String: "BEGIN"}, &pgproto3.Query{String: series}, &pgproto3.Query{String: "COMMIT"})),
		"notices": askMany("DO $$ BEGIN RAISE NOTICE 'hello %', 1; END $$", "DROP TABLE IF EXISTS nosuch", series),
		"temporary tables": askMany("CREATE TEMP TABLE pg_temp_t (a int)", "INSERT INTO pg_temp_t VALUES (1), (2)", columnar+"SELECT a + 0 AS a FROM pg_temp_t", "DROP TABLE pg_temp_t",
			columnar+"SELECT 1"),
		"extended": extendedScript(), "row limits": rowLimitScript(), "pipelines": pipelineScript(), "copy": copyScript(),
		"refused parse": refusedParseScript(), "refused begin": refusedBeginScript(), "replaced": replacedScript(),
		"big rows": append(askMany(big, "SELECT repeat('y', 3000000)", columnar+"SELECT repeat('y', 3000000)",
			"SELECT '"+strings.Repeat("z", 1<<21)+"'", columnar+"SELECT '"+strings.Repeat("z", 1<<21)+"'", series),
			say(1, parse("b", columnar+"SELECT length($1::text)"), bind("", "b", text, bytes.Repeat([]byte("q"), 3<<20)), execute("", 0), sync1),
			say(1, bind("", "b", text, bytes.Repeat([]byte("q"), 3<<19)), execute("", 0), sync1),
			say(1, bind("", "b", text, bytes.Repeat([]byte("q"), 1<<19)), execute("", 0), sync1), ask(series)),
		"listen": {
			ask("LISTEN ch"), ask(series), ask("UNLISTEN ch"),
		},
		"malformed messages": {
			say(1, &pgproto3.Query{String: "SELECT 1"}), {send: []message{rawBytes("Q\x00\x00\x00\x02")}, until: 'E'},
		},
		"too long for what they hold": {
			say(1, parse("l", series), sync1), say(1, rawBytes("B\x00\x00\x00\x0e\x00l\x00\x00\x00\x00\x00\x00\x00x"), execute("", 0), sync1),
			say(1, bind("", "l", nil), rawBytes("E\x00\x00\x00\x0a\x00\x00\x00\x00\x00x"), sync1),
			ask("BEGIN READ ONLY"), say(1, bind("p", "l", nil), execute("p", 2), sync1), say(1, rawBytes("E\x00\x00\x00\x0ap\x00\x00\x00\x00\x01"), sync1),
			say(1, rawBytes("E\x00\x00\x00\x0bp\x00\x00\x00\x00\x01x"), sync1),
		},
		"unknown message type": {{send: []message{rawBytes("!\x00\x00\x00\x08abcd")}, until: 'E'}},
		"query without end":    {{send: []message{rawBytes("Q\x00\x00\x00\x08abcd")}, ready: 1}},
		"oversized message":    {{send: []message{rawBytes("Q\x7f\xff\xff\xffabcd")}, until: 'E'}},
	}
}

func extendedScript() []step {
	text, binary := []int16{0}, []int16{1}
	withParams := columnar + "SELECT $1::int + g, $2::text, NULL::date FROM generate_series(1, 3) g"
	return []step{
		say(1, parse("", series), bind("", "", text), describe('P', ""), execute("", 0), sync1),
		say(1, parse("", withParams, 23, 25), bind("", "", text, []byte("40"), []byte("é")), describe('P', ""), execute("", 0), sync1),
		say(1, parse("s", withParams), describe('S', "s"), sync1),
		say(1, bind("", "s", binary, []byte("41"), nil), execute("", 0), sync1),
		say(1, bind("p", "s", []int16{1, 0, 1}, []byte("41"), []byte("x")), describe('P', "p"), execute("p", 0), closing('P', "p"), sync1),
		say(1, bind("", "s", []int16{1, 0}, []byte("41"), []byte("x")), execute("", 0), sync1),
		say(1, bind("", "s", text, []byte("41")), execute("", 0), sync1),
		say(1, bind("", "nosuch", text), execute("", 0), parse("s2", series), sync1),
		say(1, bind("", "s2", text), execute("", 0), sync1),
		say(1, parse("s", "SELECT 9"), bind("", "s", text), execute("", 0), sync1),
		say(1, bind("", "s", text, []byte("1"), []byte("x")), execute("", 0), sync1),
		say(1, closing('S', "s"), sync1),
		say(1, bind("", "s", text, []byte("1"), []byte("x")), execute("", 0), sync1),
		say(1, parse("", columnar+"SELECT nosuch"), bind("", "", text), describe('P', ""), execute("", 0), sync1),
		say(1, parse("", columnar+"SELECT 1/0 FROM pg_class"), bind("", "", text), describe('P', ""), execute("", 0), sync1),
		say(1, parse("", series), bind("", "", text), describe('P', ""), execute("", 0), sync1),
	}
}

func rowLimitScript() []step {
	text := []int16{0}
	return []step{
		say(1, parse("l", series), sync1),
		say(1, bind("", "l", text), execute("", 3), sync1),
		say(1, bind("", "l", text), execute("", 7), sync1),
		say(1, bind("", "l", text), execute("", 8), sync1),
		say(1, bind("", "l", text), execute("", 3), execute("", 3), execute("", 3), sync1),
		ask("BEGIN READ ONLY"),
		say(1, bind("c", "l", text), execute("c", 3), sync1),
		say(1, execute("c", 3), sync1),
		say(1, execute("c", 3), sync1),
		say(1, execute("c", 3), sync1),
		ask("COMMIT"),
	}
}

func pipelineScript() []step {
	text := []int16{0}
	return []step{
		say(1, parse("a", series), parse("i", "TRUNCATE copied"), bind("", "a", text), execute("", 0), bind("", "i", text), execute("", 0), sync1),
		say(3, bind("", "a", text), execute("", 0), sync1, bind("", "a", text), execute("", 0), sync1, &pgproto3.Query{String: "SELECT 5"}),
		say(2, parse("", "SELECT 1/0"), bind("", "", text), execute("", 0), bind("", "a", text), execute("", 0), sync1, bind("", "a", text), execute("", 0), sync1),
		say(2, bind("", "a", text), execute("", 0), bind("", "a", text), execute("", 0), sync1, parse("", "SELECT 2"), bind("", "", text), execute("", 0), sync1),
		{send: []message{bind("", "a", text), describe('P', ""), flush}, until: 'T'},
		say(1, execute("", 0), sync1),
		{send: []message{parse("f", series), describe('S', "f"), flush}, until: 'T'},
		say(1, bind("", "f", text), execute("", 0), sync1),
		say(2, sync1, sync1),
		ask("DEALLOCATE ALL"),
		say(1, bind("", "a", text), execute("", 0), sync1),
		// a unit's implicit transaction has written before it becomes a block
		say(1, parse("w", "INSERT INTO copied VALUES (4, 'four')"), bind("", "w", text), execute("", 0), parse("b", "BEGIN READ ONLY"), bind("", "b", text), execute("", 0), sync1),
		ask(columnar + "SELECT count(*) FROM copied WHERE a = 4"),
		ask("ROLLBACK"),
		// or has read; what has another value on the connection of the analytical route tells who answers
		ask("SET default_transaction_isolation = 'repeatable read'"), ask("SET work_mem = '9MB'"),
		say(1, parse("r", "SELECT count(*) FROM copied"), bind("", "r", text), execute("", 0), bind("", "b", text), execute("", 0), sync1),
		ask(columnar + "SELECT current_setting('work_mem') FROM pg_class LIMIT 1"),
		ask("ROLLBACK"),
	}
}

// refusedParseScript lets PostgreSQL's error reach the client before the rest of the unit, which would be offered or
// rejected, is sent: its Sync must be answered by ReadyForQuery alone.
func refusedParseScript() []step {
	refused := func(sql string) []step {
		return []step{
			{send: []message{parse("", sql), flush}, until: 'E'},
			say(1, bind("", "", nil), describe('P', ""), execute("", 0), sync1),
			ask(series),
		}
	}
	steps := refused(columnar + "SELECT nosuch FROM pg_class")
	steps = append(steps, askMany("SET freshet.route = 'columnar'", series)...)
	steps = append(steps, refused(columnar+"SELECT nosuch FROM pg_class")...)
	return append(steps, refused("SELECT nosuch FROM pg_class")...)
}

// refusedBeginScript has a BEGIN without effect behind an error. What comes then is in no block, so that all of a unit is
// committed or undone together.
func refusedBeginScript() []step {
	run := func(sql string) []message { return []message{parse("", sql), bind("", "", nil), execute("", 0)} }
	unit := func(sqls ...string) step {
		var m []message
		for _, sql := range sqls {
			m = append(m, run(sql)...)
		}
		return say(1, append(m, sync1)...)
	}
	return []step{
		ask("TRUNCATE copied"),
		unit("SELECT 1/0", "BEGIN"),
		unit("INSERT INTO copied VALUES (1, 'undone')", "SHOW freshet.freshness", "SELECT 1/0"),
		ask("SELECT count(*) FROM copied"),
		unit("SELECT 1/0", "BEGIN READ ONLY"),
		unit("SET LOCAL TimeZone = 'Asia/Tokyo'", columnar+"SELECT timestamptz '2020-01-01 00:00:00Z' FROM generate_series(1, 1)"),
		unit("SELECT 1/0", "BEGIN READ ONLY"),
		say(1, append([]message{parse("a", series), bind("p", "a", nil), execute("p", 2), execute("p", 0)}, sync1)...),
		unit("SELECT 1/0", "BEGIN READ ONLY"),
		say(1, describe('S', "nosuch"), bind("p", "a", nil), execute("p", 2), execute("p", 0), sync1),
		say(1, slices.Concat(run("INSERT INTO copied VALUES (2, 'undone')"), []message{parse("", "BEGIN"), bind("", "", nil)}, run("SHOW freshet.freshness"), run("SELECT 1/0"), []message{sync1})...),
		ask("SELECT count(*) FROM copied"),
		unit("BEGIN READ ONLY", series, "SELECT 1/0", "COMMIT"),
		unit("ROLLBACK", "BEGIN READ ONLY", series, "COMMIT"),
	}
}

// replacedScript has portals and statements of the same name on both sides of the gateway. A simple query drops the
// statement without a name, whoever answers it, and a portal with a name is not replaced.
func replacedScript() []step {
	again := say(1, bind("", "", nil), execute("", 0), sync1)
	return []step{
		say(1, parse("", "SELECT 1"), bind("p", "", nil), execute("p", 0), bind("", "nosuch", nil), sync1), ask(series), again,
		say(1, parse("", "SELECT 1"), parse("d", "DEALLOCATE ALL"), bind("", "d", nil), execute("", 0), sync1), ask(series), again,
		say(1, parse("", "SELECT 1"), sync1), ask("SELECT 2"), ask(series), again,
		say(1, parse("o", "SELECT g FROM generate_series(1, 9) g"), parse("c", series), sync1),
		ask("BEGIN READ ONLY"),
		say(1, bind("p", "o", nil), execute("p", 2), sync1),
		say(1, bind("p", "c", nil), execute("p", 2), sync1),
		ask("ROLLBACK"), ask("BEGIN READ ONLY"),
		say(1, bind("p", "o", nil), execute("p", 2), sync1),
		say(1, bind("q", "c", nil), execute("q", 2), sync1),
		say(1, closing('P', "p"), bind("p", "c", nil), execute("p", 3), sync1),
		say(1, execute("q", 1), execute("p", 1), sync1),
		say(1, bind("", "o", nil), execute("", 2), sync1),
		say(1, bind("", "c", nil), execute("", 2), execute("", 2), sync1),
		ask("COMMIT"),
	}
}

func copyScript() []step {
	return []step{
		ask("TRUNCATE copied"),
		{send: []message{&pgproto3.Query{String: "COPY copied FROM STDIN"}}, until: 'G'},
		say(1, &pgproto3.CopyData{Data: []byte("1\tone\n")}, &pgproto3.CopyData{Data: bytes.Repeat([]byte("2\tmany\n"), 40000)}, &pgproto3.CopyDone{}),
		ask(columnar + "SELECT count(*) FROM copied"),
		{send: []message{&pgproto3.Query{String: "COPY copied FROM STDIN"}}, until: 'G'},
		say(1, &pgproto3.CopyData{Data: []byte("not a number\n")}, &pgproto3.CopyDone{}),
		{send: []message{&pgproto3.Query{String: "COPY copied FROM STDIN"}}, until: 'G'},
		say(1, &pgproto3.CopyFail{Message: "gave up"}),
		ask("COPY (SELECT a FROM copied ORDER BY a LIMIT 5) TO STDOUT"),
		{send: []message{parse("", "COPY copied FROM STDIN"), bind("", "", nil), execute("", 0), sync1}, until: 'G'},
		say(1, &pgproto3.CopyData{Data: []byte("3\tthree\n")}, &pgproto3.CopyDone{}, sync1),
		ask(columnar + "SELECT count(*) FROM copied"),
		{send: []message{parse("", "COPY copied FROM STDIN"), bind("", "", nil), execute("", 0), sync1}, until: 'G'},
		say(1, &pgproto3.CopyData{Data: []byte("zzz\n")}, &pgproto3.CopyDone{}, sync1),
		ask(columnar + "SELECT count(*) FROM copied"),
	}
}

type rawBytes string

func (r rawBytes) Encode(b []byte) ([]byte, error) { return append(b, r...), nil }

func TestSession_answersAsPostgreSQLDoes(t *testing.T) {
	b := newBed(t)
	for name, steps := range scripts() {
		t.Run(name, func(t *testing.T) { sameAsPostgreSQL(t, b, steps) })
	}
	if n := b.analytics.answered.Load(); n < 30 {
		t.Errorf("only %d statements took the analytical route: the scripts compare too little", n)
	}
}

// sameAsPostgreSQL compares what a client is told through the gateway with what PostgreSQL tells it.
func sameAsPostgreSQL(t *testing.T, b *bed, steps []step) {
	t.Helper()
	if d := cmp.Diff(transcript(t, b.direct, steps), transcript(t, b.through, steps)); d != "" {
		t.Errorf("through the gateway (-PostgreSQL +gateway):\n%s", shorten(d))
	}
}

func shorten(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if len(l) > 300 {
			lines[i] = l[:300] + "…"
		}
	}
	return strings.Join(lines[:min(len(lines), 60)], "\n")
}

func TestSession_isRelayedWithoutAnalytics(t *testing.T) {
	b := newBed(t)
	b.gateway(t, withoutAnalytics)
	for name, steps := range scripts() {
		t.Run(name, func(t *testing.T) { sameAsPostgreSQL(t, b, steps) })
	}
}

func dialRaw(t *testing.T, addr string) net.Conn {
	t.Helper()
	var d net.Dialer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}
