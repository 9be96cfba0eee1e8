package cockroachdb

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// answer is what the server in the test says to a statement that begins with a text.
type answer struct {
	Begins string
	// Types are the OIDs of the columns; all text when empty.
	Types []uint32
	Rows  [][]string
	Error string // SQLSTATE and message
}

// server speaks as much of PostgreSQL's protocol as a [SQL] uses, with fixed answers.
type server struct {
	mu      sync.Mutex
	answers []answer
	asked   []string
}

func startServer(t *testing.T, answers ...answer) (*server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{answers: answers}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		serving.Wait()
	})
	return s, "postgres://root@" + l.Addr().String() + "/shop?sslmode=disable"
}

func (s *server) serve(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	var a answer
	for b.Flush() == nil {
		m, err := b.Receive()
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *pgproto3.Parse:
			a = s.find(m.Query)
			b.Send(&pgproto3.ParseComplete{})
		case *pgproto3.Bind:
			b.Send(&pgproto3.BindComplete{})
		case *pgproto3.Describe:
			b.Send(a.fields())
		case *pgproto3.Execute:
			a.send(b)
		case *pgproto3.Sync:
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Terminate:
			return
		}
	}
}

// find takes the first answer that fits; the last one that fits is given again and again.
func (s *server) find(sql string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, sql)
	fits := -1
	for i, a := range s.answers {
		if strings.HasPrefix(strings.TrimSpace(sql), a.Begins) {
			if fits >= 0 {
				found := s.answers[fits]
				s.answers = append(s.answers[:fits:fits], s.answers[fits+1:]...)
				return found
			}
			fits = i
		}
	}
	if fits < 0 {
		return answer{Error: "42601 the test has no answer to " + sql}
	}
	return s.answers[fits]
}

// statements returns what was asked beside the questions that come again and again.
func (s *server) statements() (out []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sql := range s.asked {
		if !strings.HasPrefix(sql, "--") && !strings.HasPrefix(sql, "SELECT") && !strings.HasPrefix(sql, "SET ") {
			out = append(out, sql)
		}
	}
	return out
}

func (a *answer) fields() pgproto3.BackendMessage {
	if len(a.Rows) == 0 {
		return &pgproto3.NoData{}
	}
	d := &pgproto3.RowDescription{}
	for i := range a.Rows[0] {
		typ := uint32(pgtype.TextOID)
		if i < len(a.Types) {
			typ = a.Types[i]
		}
		d.Fields = append(d.Fields, pgproto3.FieldDescription{Name: []byte("c"), DataTypeOID: typ})
	}
	return d
}

func (a *answer) send(b *pgproto3.Backend) {
	if a.Error != "" {
		b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: a.Error[:5], Message: a.Error[6:]})
		return
	}
	for _, row := range a.Rows {
		m := &pgproto3.DataRow{}
		for _, v := range row {
			if v == "NULL" {
				m.Values = append(m.Values, nil)
			} else {
				m.Values = append(m.Values, []byte(v))
			}
		}
		b.Send(m)
	}
	b.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT")})
}

// fixture reads the answer to the catalog query.
func fixture(t *testing.T) answer {
	t.Helper()
	text, err := os.ReadFile("testdata/catalog.json")
	if err != nil {
		t.Fatal(err)
	}
	var tables []struct {
		ID, Schema, Name string
		Columns, Key     json.RawMessage
	}
	if err := json.Unmarshal(text, &tables); err != nil {
		t.Fatal(err)
	}
	a := answer{Begins: "--"}
	for _, x := range tables {
		a.Rows = append(a.Rows, []string{x.ID, x.Schema, x.Name, string(x.Columns), string(x.Key), "3"})
	}
	return a
}

func openTest(t *testing.T, url string, manage bool) *SQL {
	t.Helper()
	d, err := OpenSQL(SQLConfig{URL: url, Exclude: []string{"public.skipped"}, Manage: manage, Changefeed: Statements{Sink: "kafka://broker:9092", Prefix: "freshet."}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// running is a row of the changefeed jobs.
func running(id, status, detail, description, sink, tables string) []string {
	return []string{id, status, detail, "", description, "1763632800000000000", sink, tables}
}

const (
	ourSink  = "kafka://broker:9092?topic_prefix=freshet."
	cursor   = `CREATE CHANGEFEED FOR TABLE shop.public.orders INTO 'kafka://…' WITH OPTIONS (cursor = '1763632799000000000.0000000001', diff)`
	clockSQL = "SELECT cluster_logical_timestamp()"
)

func TestSQL_findsTablesAndSaysWhatStopsThem(t *testing.T) {
	_, url := startServer(t, fixture(t), answer{Begins: "SELECT job_id", Rows: [][]string{
		running("7", "running", "", cursor, "kafka://broker:9092?topic_prefix=other.", "shop.public.orders"),
		running("8", "running", "", cursor, ourSink, "shop.public.orders\nshop.public.\"Odd\"\nshop.public.arrays\nshop.public.computed")}})
	d := openTest(t, url, false)
	found, err := d.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range found {
		got[x.Table.Name] = "ok"
		if x.Stopped != nil {
			got[x.Table.Name] = string(x.Stopped.Code)
			if x.Stopped.Remedy == "" {
				t.Errorf("%v has no remedy", x.Stopped)
			}
		}
	}
	want := map[string]string{"orders": "ok", "Odd": "ok", "late": "SourceConfiguration", "keyless": "NoKey",
		"arrays": "ok", "computed": "ok", "by_array": "UnsupportedType"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantDef := &cdc.Table{ID: 106, Schema: "public", Name: "orders", Version: "3", Key: []int{0, 1}, Columns: []cdc.Column{
		{Name: "w_id", Type: pgtype.Int8OID, Modifier: -1, NotNull: true, Attr: 1, BytewiseCollation: true}, {Name: "o_id", Type: pgtype.Int8OID, Modifier: -1, NotNull: true, Attr: 2, BytewiseCollation: true},
		{Name: "total", Type: pgtype.NumericOID, Modifier: numeric122, Attr: 4, BytewiseCollation: true}, {Name: "state", Type: 100107, Modifier: -1, Attr: 5, BytewiseCollation: true, Enum: true},
		{Name: "german", Type: pgtype.TextOID, Modifier: -1, Attr: 6}}}
	for _, x := range found {
		if x.Table.Name == "orders" {
			if diff := cmp.Diff(wantDef, x.Table); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
	}
	omitted := map[string][]cdc.OmittedColumn{}
	for _, x := range found {
		if len(x.Table.Omitted) > 0 && x.Stopped == nil {
			omitted[x.Table.Name] = x.Table.Omitted
		}
	}
	wantOmitted := map[string][]cdc.OmittedColumn{
		"arrays":   {{Column: cdc.Column{Name: "tags", Type: 1009, Modifier: -1, Attr: 2, BytewiseCollation: true}, Code: cdc.CodeUnsupportedType, Detail: "has type STRING[]", Remedy: "change the column's type"}},
		"computed": {{Column: cdc.Column{Name: "twice", Type: pgtype.Int8OID, Modifier: -1, Attr: 2, BytewiseCollation: true}, Code: cdc.CodeUnsupportedType, Detail: "is a virtual computed column, which changefeeds leave out", Remedy: "make the column STORED"}},
	}
	if diff := cmp.Diff(wantOmitted, omitted); diff != "" {
		t.Errorf("columns left out (-want +got):\n%s", diff)
	}
	f, err := d.Changefeed(t.Context())
	wantFeed := Changefeed{Job: "8", Start: cdc.Position{Major: 1763632799000000000, Minor: 1}, Created: time.Unix(1763632800, 0), Detail: "running"}
	if diff := cmp.Diff(wantFeed, f); err != nil || diff != "" {
		t.Errorf("error %v (-want +got):\n%s", err, diff)
	}
}

func TestSQL_createsTheChangefeedAndKeepsItsTables(t *testing.T) {
	now := answer{Begins: clockSQL, Rows: [][]string{{"1763632800000000000.0000000003"}}}
	jobs := func(rows ...[]string) answer { return answer{Begins: "SELECT job_id", Rows: rows} }
	paused := answer{Begins: "SELECT status", Rows: [][]string{{"paused"}}}
	done := answer{Begins: ""}
	odd := "\nshop.public.arrays\nshop.public.computed"
	all := "shop.public.orders\nshop.public.\"Odd\"\nshop.public.late" + odd
	for name, c := range map[string]struct {
		answers []answer
		want    []string
	}{
		"none": {[]answer{jobs(), {Begins: "CREATE", Rows: [][]string{{"9"}}}}, []string{"CREATE CHANGEFEED FOR TABLE \"shop\".\"public\".\"Odd\""}},
		"one that failed": {[]answer{jobs(running("8", "failed", "gone", cursor, ourSink, all)), {Begins: "CREATE", Rows: [][]string{{"9"}}}},
			[]string{"CREATE CHANGEFEED FOR TABLE"}},
		"one that fits": {[]answer{jobs(running("8", "running", "", cursor, ourSink, all))}, nil},
		"one that lacks a table": {[]answer{jobs(running("8", "running", "", cursor, ourSink, "shop.public.orders\nshop.public.\"Odd\""+odd))},
			[]string{"PAUSE JOB 8", `ALTER CHANGEFEED 8 ADD "shop"."public"."late" WITH initial_scan = 'no'`, "RESUME JOB 8"}},
		"one that was paused by a table that is gone": {[]answer{jobs(running("8", "paused", "dropped", cursor, ourSink, all+"\nshop.public.gone"))},
			[]string{`ALTER CHANGEFEED 8 DROP "shop"."public"."gone"`, "RESUME JOB 8"}},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := startServer(t, append(c.answers, fixture(t), now, paused, done)...)
			found, err := openTest(t, url, true).Tables(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range found {
				if x.Stopped != nil && x.Stopped.Code == cdc.CodeConfiguration {
					t.Errorf("%v", x.Stopped)
				}
			}
			got := s.statements()
			if len(got) != len(c.want) {
				t.Fatalf("%d statements: %q, want %q", len(got), got, c.want)
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("statement %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

func TestSQL_refusesTwoChangefeedsAndNone(t *testing.T) {
	two := answer{Begins: "SELECT job_id", Rows: [][]string{running("8", "running", "", cursor, ourSink, ""), running("9", "paused", "", cursor, ourSink, "")}}
	_, url := startServer(t, fixture(t), two)
	wantCode := func(err error, code cdc.Code) {
		t.Helper()
		if terminal, ok := errors.AsType[*cdc.TerminalError](err); !ok || terminal.Code != code || terminal.Remedy == "" {
			t.Errorf("error %v, want %s", err, code)
		}
	}
	_, err := openTest(t, url, false).Tables(t.Context())
	wantCode(err, cdc.CodeConfiguration)
	_, url = startServer(t, fixture(t), answer{Begins: "SELECT job_id"})
	_, err = openTest(t, url, false).Tables(t.Context())
	wantCode(err, cdc.CodeChangefeedStopped)
	_, url = startServer(t, fixture(t), answer{Begins: "SELECT job_id"}, answer{Begins: clockSQL, Rows: [][]string{{"1.0000000000"}}},
		answer{Begins: "CREATE", Error: "XXUUU batch timestamp 1.000000000,0 must be after replica GC threshold 2.0,0"})
	_, err = openTest(t, url, true).Tables(t.Context())
	wantCode(err, cdc.CodeHistoryLost)
}

// collector is a sink that keeps what it gets as text.
type collector struct{ lines []string }

func (c *collector) Begin(_ context.Context, at cdc.Position, tables []*cdc.Table) error {
	c.lines = append(c.lines, "begin "+formatHLC(at))
	return nil
}

func (c *collector) Rows(_ context.Context, t *cdc.Table, rows []cdc.Row) error {
	for _, row := range rows {
		line := t.Name
		for _, d := range row {
			line += "|" + string(d.Data)
		}
		c.lines = append(c.lines, line)
	}
	return nil
}

func (c *collector) Done(_ context.Context, t *cdc.Table) error {
	c.lines = append(c.lines, t.Name+" done")
	return nil
}

func (c *collector) Stopped(_ context.Context, id cdc.TableID, why *cdc.TableError) error {
	c.lines = append(c.lines, why.Table+" "+string(why.Code))
	return nil
}

func TestSQL_copiesTablesAtOneTimestamp(t *testing.T) {
	at := "1763632800000000000.0000000003"
	ids := map[string]cdc.TableID{"one": 1, "altered": 2, "dropped": 3, "secret": 4, "empty": 5, "changed": 6, "gone": 7}
	table := func(name string) *cdc.Table {
		return &cdc.Table{ID: ids[name], Schema: "public", Name: name, Version: "3", Key: []int{0}, Columns: []cdc.Column{{Name: "a", Type: pgtype.Int8OID}, {Name: "b", Type: pgtype.TextOID}}}
	}
	asOf := func(name string) string {
		return `SELECT "a", "b" FROM "shop"."public"."` + name + `" AS OF SYSTEM TIME '` + at + "'"
	}
	const versions = "SELECT (SELECT string_agg"
	s, url := startServer(t, answer{Begins: clockSQL, Rows: [][]string{{at}}},
		answer{Begins: versions, Rows: [][]string{{"6=3 7=3", "1763632799000000000.0000000000"}}}, // of a node whose clock is behind
		answer{Begins: versions, Rows: [][]string{{"1=3 2=3 3=3 4=3 5=3 6=4", at}}},
		answer{Begins: asOf("one"), Types: []uint32{pgtype.Int8OID}, Rows: [][]string{{"00000001", "x"}, {"00000002", "NULL"}}},
		answer{Begins: asOf("altered"), Types: []uint32{pgtype.Int4OID}, Rows: [][]string{{"0001", "x"}}},
		answer{Begins: asOf("dropped"), Error: "42P01 relation does not exist"},
		answer{Begins: asOf("secret"), Error: "42501 user has no SELECT privilege"},
		answer{Begins: asOf("empty")})
	sink := &collector{}
	got, err := openTest(t, url, false).Copy(t.Context(), []*cdc.Table{table("one"), table("altered"), table("dropped"), table("secret"), table("empty"), table("changed"), table("gone")}, sink)
	if err != nil || formatHLC(got) != at {
		t.Fatalf("copied at %s, error %v; asked %q", formatHLC(got), err, s.asked)
	}
	want := []string{"begin " + at, "public.changed UnsupportedSchemaChange", "public.gone UnsupportedSchemaChange", "one|00000001|x", "one|00000002|", "one done", "public.altered UnsupportedSchemaChange", "public.dropped UnsupportedSchemaChange", "public.secret InsufficientPrivilege", "empty done"}
	if diff := cmp.Diff(want, sink.lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	now, err := openTest(t, url, false).Now(t.Context())
	if want := (cdc.Position{Major: 1763632800500000000, Minor: 3}); err != nil || now != want {
		t.Errorf("now is %s, error %v, want half a second later than the clock", formatHLC(now), err)
	}
}

func TestSQL_stopsATableWhoseVersionItMayNotSee(t *testing.T) {
	found, err := parseTable([]string{"106", "public", "orders", `[{"name": "id", "type": 20, "modifier": -1, "attr": 1}]`, `["id"]`, ""})
	if err != nil {
		t.Fatal(err)
	}
	if d := found.discover(); d.Stopped == nil || d.Stopped.Code != cdc.CodePrivilege {
		t.Errorf("it is stopped by %v, want %s", d.Stopped, cdc.CodePrivilege)
	}
}
