package pgwire_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// waitFor polls a condition of the outside world until it holds.
func (b *bed) waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(10 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

const hanging = columnar + "SELECT 1 AS hang"

// hang runs a statement that hangs on the analytical route, and returns where its error comes.
func (b *bed) hang(t *testing.T, c *pgconn.PgConn) <-chan error {
	t.Helper()
	failed := make(chan error, 1)
	go func() {
		_, err := c.Exec(context.Background(), hanging).ReadAll()
		failed <- err
	}()
	<-b.analytics.running
	return failed
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != code {
		t.Errorf("error %v, want SQLSTATE %s", err, code)
	}
}

func TestSession_cancelsWhatRuns(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	failed := b.hang(t, c)
	if err := c.CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := <-failed
	wantCode(t, err, "57014")
	if !strings.Contains(err.Error(), "canceling statement due to user request") {
		t.Errorf("message: %v", err)
	}
	<-b.analytics.stopped
	slept := make(chan error, 1)
	go func() {
		_, err := c.Exec(context.Background(), "SELECT pg_sleep(60)").ReadAll()
		slept <- err
	}()
	watcher := connect(t, b.direct)
	b.waitFor(t, "the statement to run", func() bool {
		return run(t, watcher, "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'")[0][0] == "1"
	})
	if err := c.CancelRequest(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, <-slept, "57014")
	run(t, c, read)
}

func TestSession_keepsStatementTimeout(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	run(t, c, "SET statement_timeout = '30ms'")
	e := failure(t, c, hanging)
	<-b.analytics.running
	<-b.analytics.stopped
	if e.Code != "57014" || e.Message != "canceling statement due to statement timeout" {
		t.Errorf("%s %s", e.Code, e.Message)
	}
	run(t, c, "SET statement_timeout = 0")
	run(t, c, read)
}

func TestSession_stopsForAClientThatLeft(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	failed := b.hang(t, c)
	pid := c.PID()
	c.Conn().Close()
	<-b.analytics.stopped
	<-failed
	watcher := connect(t, b.direct)
	b.waitFor(t, "the backend to end", func() bool {
		r := watcher.ExecParams(t.Context(), "SELECT 1 FROM pg_stat_activity WHERE pid = $1::text::int",
			[][]byte{strconv.AppendUint(nil, uint64(pid), 10)}, nil, nil, nil).Read()
		return r.Err == nil && len(r.Rows) == 0
	})
}

func TestSession_keepsWhatIsSentWhileItRuns(t *testing.T) {
	b := newBed(t)
	conn := hijack(t, connect(t, b.through))
	send := func(sql string) {
		t.Helper()
		raw, err := ask(sql).send[0].Encode(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(raw); err != nil {
			t.Fatal(err)
		}
	}
	send("SET statement_timeout = '200ms'")
	send(hanging)
	<-b.analytics.running
	send("SELECT 'sent meanwhile'")
	send("SELECT '" + strings.Repeat("long ", 4000) + "'")
	<-b.analytics.stopped
	var kinds []byte
	for strings.Count(string(kinds), "Z") < 4 {
		kind, _, err := readMessage(conn)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, kind)
	}
	if got, want := string(kinds), "CZEZTDCZTDCZ"; got != want {
		t.Errorf("messages %s, want %s", got, want)
	}
}

func TestSession_failsTheBlockWhenAReadFails(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	run(t, c, "BEGIN READ ONLY")
	if e := failure(t, c, columnar+"SELECT 1 AS broken"); e.Code != "22012" {
		t.Errorf("%s, want 22012", e.Code)
	}
	if c.TxStatus() != 'E' {
		t.Errorf("transaction status %c, want E", c.TxStatus())
	}
	if e := failure(t, c, read); e.Code != "25P02" {
		t.Errorf("%s, want 25P02", e.Code)
	}
	run(t, c, "ROLLBACK")
	run(t, c, read)
}

func TestSession_hearsNotificationsWhileIdle(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	run(t, c, "LISTEN news")
	run(t, c, read)
	run(t, connect(t, b.direct), "NOTIFY news, 'hello'")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.WaitForNotification(ctx); err != nil {
		t.Error(err)
	}
}

func TestSession_tellsOfDefinitionsOnceTheyAreCommitted(t *testing.T) {
	var told atomic.Int64
	b := newBed(t, func(c *pgwire.Config) { c.Defined = func() { told.Add(1) } })
	c := connect(t, b.through)
	extended := func(sql string) {
		if err := c.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read().Err; err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	for _, step := range []struct {
		do   func(sql string)
		sql  string
		want int64
	}{
		{extended, "CREATE TABLE defined (a int)", 1},
		{extended, "INSERT INTO defined VALUES (1)", 1},
		{extended, "BEGIN", 1},
		{extended, "ALTER TABLE defined ADD b int", 1},
		{extended, "SELECT FROM defined", 1},
		{extended, "COMMIT", 2},
		{func(sql string) { run(t, c, sql) }, "DROP TABLE defined", 3},
		{func(sql string) { run(t, c, sql) }, "SELECT 1", 3},
	} {
		step.do(step.sql)
		if got := told.Load(); got != step.want {
			t.Fatalf("told %d times after %s, want %d", got, step.sql, step.want)
		}
	}
}

func TestServer_endsSessionsWith57P01(t *testing.T) {
	b := newBed(t)
	var idle, busy *pgconn.PgConn
	ended := make(chan error, 2)
	idle, busy = connect(t, b.through), connect(t, b.through)
	failed := b.hang(t, busy)
	if err := b.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-b.analytics.stopped
	wantCode(t, <-failed, "57P01")
	_, err := idle.ReceiveMessage(t.Context())
	ended <- err
	wantCode(t, <-ended, "57P01")
}

func TestServer_drainsUntilTheLastClientHasLeft(t *testing.T) {
	b := newBed(t)
	early := connect(t, b.through)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		b.server.Drain(t.Context(), 0)
	}()
	late := connect(t, b.through) // who sent it has not learned yet
	run(t, early, "SELECT 1")
	if err := early.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(t, late, "SELECT 1")
	select {
	case <-drained:
		t.Error("drained although a client is connected")
	default:
	}
	if err := late.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-drained
}

func TestServer_drainsNoLongerThanItMay(t *testing.T) {
	b := newBed(t)
	c := connect(t, b.through)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	b.server.Drain(ctx, 0)
	run(t, c, "SELECT 1") // Shutdown, and nothing else, ends sessions
}

func TestServer_relaysRefusals(t *testing.T) {
	b := newBed(t)
	for _, tc := range []struct{ name, from, to, code string }{
		{"wrong password", b.pg.Password(), "wrong", "28P01"},
		{"unknown database", "/" + b.database, "/nosuch", "3D000"},
		{"unknown user", "//postgres", "//nobody", "28P01"},
	} {
		for _, url := range []string{b.direct, b.through} {
			_, err := pgconn.Connect(t.Context(), strings.Replace(url, tc.from, tc.to, 1))
			wantCode(t, err, tc.code)
		}
	}
}

func TestServer_saysThatPostgreSQLIsDown(t *testing.T) {
	b := newOwnBed(t)
	c := connect(t, b.through)
	if err := b.pg.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "SELECT 1").ReadAll(); err == nil {
		t.Error("a session outlived PostgreSQL")
	}
	_, err := pgconn.Connect(t.Context(), b.through)
	wantCode(t, err, "57P03")
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Hint == "" {
		t.Error("no hint what to do")
	}
}

func TestServer_limitsConnections(t *testing.T) {
	b := newBed(t, func(c *pgwire.Config) { c.MaxConnections = 1 })
	connect(t, b.through)
	_, err := pgconn.Connect(t.Context(), b.through)
	wantCode(t, err, "53300")
}
