package pgwire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/cursor"
	"github.com/freshet-io/freshet/gateway/datarow"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/local/pgserver"
)

// scripted is an analytical route that gets its rows from PostgreSQL by a connection of its own,
// and does what comments in a statement say. Statements with a comment "columnar" are its candidates.
type scripted struct {
	url     string
	running chan string // receives the text of each "hang" statement once it hangs
	stopped chan error  // receives why it ended

	mu       sync.Mutex
	infos    []pgwire.SessionInfo
	begun    int
	ended    int
	answered atomic.Int64
}

func (a *scripted) Candidate(sql string) pgwire.Candidate {
	upper := strings.ToUpper(strings.TrimSpace(sql))
	if inner, ok := strings.CutPrefix(upper, "EXPLAIN (FRESHET) "); ok {
		return pgwire.Candidate{Kind: pgwire.Explain, Inner: sql[len(sql)-len(inner):]}
	}
	c := pgwire.Candidate{Reason: "not marked", SetsSession: strings.Contains(sql, "set_config"), NoData: !strings.Contains(upper, " FROM ")}
	if strings.Contains(sql, "/* columnar") {
		c = pgwire.Candidate{Kind: pgwire.Read}
	}
	return c
}

func (a *scripted) HiddenEffects() bool                    { return false }
func (a *scripted) Cursor(string) (cursor.Statement, bool) { return cursor.Statement{}, false }
func (a *scripted) Generation() uint64                     { return 1 }

func (a *scripted) note(s *pgwire.SessionInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.infos = append(a.infos, *s)
}

func (a *scripted) lastInfo() pgwire.SessionInfo {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.infos[len(a.infos)-1]
}

type scriptedTx struct{ a *scripted }

func (t scriptedTx) End() {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	t.a.ended++
}

func (a *scripted) Begin(context.Context, *pgwire.SessionInfo) (pgwire.Tx, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun++
	return scriptedTx{a}, nil
}

func (a *scripted) open() (begun, ended int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun, a.ended
}

func (a *scripted) Plan(_ context.Context, s *pgwire.SessionInfo, st pgwire.Statement) (pgwire.Query, error) {
	a.note(s)
	if strings.Contains(st.SQL, "unplanned") {
		return nil, &pgwire.RelayError{Reason: "the script says so"}
	}
	return &scriptedQuery{a, s, st}, nil
}

func (a *scripted) Explain(_ context.Context, s *pgwire.SessionInfo, st pgwire.Statement) ([]string, error) {
	a.note(s)
	return []string{"Route: columnar", "SQL: " + st.SQL}, nil
}

type scriptedQuery struct {
	a  *scripted
	s  *pgwire.SessionInfo
	st pgwire.Statement
}

func (q *scriptedQuery) Run(ctx context.Context, formats []int16, sink func(datarow.Rows) error) (int64, error) {
	switch {
	case strings.Contains(q.st.SQL, "hang"):
		q.a.running <- q.st.SQL
		<-ctx.Done()
		q.a.stopped <- context.Cause(ctx)
		return 0, ctx.Err()
	case strings.Contains(q.st.SQL, "unrunnable"):
		return 0, &pgwire.RelayError{Reason: "found out late"}
	case strings.Contains(q.st.SQL, "broken"):
		return 0, &pgwire.Error{Code: "22012", Message: "division by zero"}
	}
	conn, err := pgconn.Connect(ctx, q.a.url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "SET TimeZone = '"+q.s.TimeZone+"'; SET DateStyle = '"+q.s.DateStyle+"'").ReadAll(); err != nil {
		return 0, err
	}
	var values [][]byte
	var paramFormats []int16
	for _, p := range q.st.Params {
		values, paramFormats = append(values, p.Value), append(paramFormats, p.Format)
	}
	r := conn.ExecParams(ctx, q.st.SQL, values, q.st.ParamOIDs, paramFormats, formats)
	var n int64
	for r.NextRow() {
		if err := sink(datarow.Of(r.Values())); err != nil {
			return n, err
		}
		n++
	}
	if _, err := r.Close(); err != nil {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok {
			return n, &pgwire.Error{Code: e.Code, Message: e.Message, Hint: e.Hint}
		}
		return n, err
	}
	q.a.answered.Add(1)
	q.s.Record(pgwire.LastRun{Route: "columnar", Reason: "scripted", Snapshot: "0/10", Staleness: 5 * time.Millisecond})
	return n, nil
}

// bed is a gateway in front of a real PostgreSQL.
type bed struct {
	database  string
	pg        *pgserver.Server
	server    *pgwire.Server
	analytics *scripted
	addr      string
	direct    string // URLs
	through   string
}

// newBed makes a gateway in front of the shared server.
func newBed(t *testing.T, change ...func(*pgwire.Config)) *bed {
	t.Helper()
	return makeBed(t, shared, change...)
}

// newOwnBed makes a gateway in front of a server that the test may change or kill.
func newOwnBed(t *testing.T) *bed {
	t.Helper()
	return makeBed(t, stand.Postgres(t))
}

// databases numbers the tests' databases.
var databases atomic.Int64

func makeBed(t *testing.T, pg *pgserver.Server, change ...func(*pgwire.Config)) *bed {
	t.Helper()
	database := fmt.Sprintf("bed%d", databases.Add(1))
	run(t, connect(t, pg.URL("postgres")), "CREATE DATABASE "+database)
	b := &bed{pg: pg, database: database, direct: pg.URL(database)}
	b.analytics = &scripted{url: b.direct, running: make(chan string, 1), stopped: make(chan error, 1)}
	run(t, connect(t, b.direct), "CREATE TABLE copied (a int, b text)")
	b.gateway(t, change...)
	return b
}

func withoutAnalytics(c *pgwire.Config) { c.Analytics = nil }

// gateway starts another gateway with its own configuration.
func (b *bed) gateway(t *testing.T, change ...func(*pgwire.Config)) {
	t.Helper()
	cfg := pgwire.Config{BackendNetwork: "tcp", BackendAddress: b.pg.Addr(), Analytics: b.analytics}
	for _, f := range change {
		f(&cfg)
	}
	l := listen(t)
	b.addr = l.Addr().String()
	b.through = strings.Replace(b.direct, b.pg.Addr(), b.addr, 1)
	b.server = serve(t, l, cfg)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// serve runs a server until the end of the test.
func serve(t *testing.T, l net.Listener, cfg pgwire.Config) *pgwire.Server {
	t.Helper()
	server := pgwire.NewServer(cfg)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return server
}

// fromServer names what the client library reads from in a connection's custom data.
const fromServer = "from the server"

// connect opens a connection that is closed with the test.
func connect(t *testing.T, url string) *pgconn.PgConn {
	t.Helper()
	cfg, err := pgconn.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	var from io.Reader
	build := cfg.BuildFrontend
	cfg.BuildFrontend = func(r io.Reader, w io.Writer) *pgproto3.Frontend {
		from = r
		return build(r, w)
	}
	c, err := pgconn.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.CustomData()[fromServer] = from
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// run executes SQL that must succeed and returns the rows of its last statement as text.
func run(t *testing.T, c *pgconn.PgConn, sql string) [][]string {
	t.Helper()
	results, err := c.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var rows [][]string
	if len(results) > 0 {
		for _, values := range results[len(results)-1].Rows {
			var row []string
			for _, v := range values {
				row = append(row, string(v))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// failure executes SQL that must fail with an error of PostgreSQL's form, and returns that.
func failure(t *testing.T, c *pgconn.PgConn, sql string) *pgconn.PgError {
	t.Helper()
	_, err := c.Exec(t.Context(), sql).ReadAll()
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		t.Fatalf("%s: error %v, want one of PostgreSQL's form", sql, err)
	}
	return e
}
