package pgwire_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/gateway/pgwire"
)

// wire is the connection of a session without the client library, which on a slow machine may have begun to read in
// the background: what it read so comes first.
type wire struct {
	net.Conn
	from io.Reader
}

func (w wire) Read(b []byte) (int, error) { return w.from.Read(b) }

func (w wire) CloseWrite() error { return w.Conn.(interface{ CloseWrite() error }).CloseWrite() }

// hijack takes the connection of a session over.
func hijack(t *testing.T, c *pgconn.PgConn) wire {
	t.Helper()
	h, err := c.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Conn.Close() })
	if err := h.Conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return wire{h.Conn, h.CustomData[fromServer].(io.Reader)}
}

// lastWill sends messages, closes the writing side, and returns what comes up to the end of the connection.
func lastWill(t *testing.T, conn wire, messages ...message) (answers []string) {
	t.Helper()
	var b []byte
	for _, m := range messages {
		var err error
		if b, err = m.Encode(b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for {
		kind, body, err := readMessage(conn)
		if err != nil {
			return append(answers, err.Error())
		}
		answers = append(answers, fmt.Sprintf("%c %q", kind, sourceOfError.ReplaceAll(body, nil)))
	}
}

func TestSession_answersAClientThatSendsNoMore(t *testing.T) {
	b := newOwnBed(t)
	certificate(t, b)
	cfg, err := pgwire.SelfSignedTLS(time.Now(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	b.gateway(t, func(c *pgwire.Config) { c.TLS = cfg })
	urls := []string{b.through, strings.Replace(b.through, "sslmode=disable", "sslmode=require", 1)}
	b.gateway(t, func(c *pgwire.Config) { c.BackendTLS = &tls.Config{InsecureSkipVerify: true} })
	urls = append(urls, b.through)
	query := func(sql string) message { return &pgproto3.Query{String: sql} }
	for name, messages := range map[string][]message{
		"nothing":            {},
		"a query":            {query("SELECT 1")},
		"a write":            {query("INSERT INTO copied VALUES (1, 'x')")},
		"two queries":        {query("SELECT pg_sleep(0.01)"), query("SELECT 2")},
		"a long answer":      {query("SELECT repeat('x', 1000) FROM generate_series(1, 5000)")},
		"a failing one":      {query("SELECT 1/0"), query("SELECT 1")},
		"a unit":             {parse("", "SELECT 1"), bind("", "", nil), execute("", 0), sync1},
		"a unit without end": {parse("", "SELECT 1"), bind("", "", nil), execute("", 0)},
		"half a message":     {query("SELECT 1"), rawBytes("Q\x00\x00\x00\x20SEL")},
		"data to copy":       {query("COPY copied FROM STDIN"), &pgproto3.CopyData{Data: []byte("1\tone\n")}},
		"a terminate":        {query("SELECT 1"), &pgproto3.Terminate{}},
	} {
		t.Run(name, func(t *testing.T) {
			want := lastWill(t, hijack(t, connect(t, b.direct)), messages...)
			for _, url := range urls {
				if d := cmp.Diff(want, lastWill(t, hijack(t, connect(t, url)), messages...)); d != "" {
					t.Errorf("through the gateway (-PostgreSQL +gateway):\n%s", shorten(d))
				}
			}
		})
	}
}

// What waits for PostgreSQL alone keeps no snapshot of the replica's.
func TestSession_keepsNoSnapshotForAClientThatSendsNoMore(t *testing.T) {
	b := newBed(t)
	other, c := connect(t, b.direct), connect(t, b.through)
	run(t, other, "SELECT pg_advisory_lock(1)")
	run(t, c, "BEGIN READ ONLY")
	run(t, c, read)
	answered := make(chan []string, 1)
	conn := hijack(t, c)
	go func() { answered <- lastWill(t, conn, &pgproto3.Query{String: "SELECT pg_advisory_lock(1)"}) }()
	b.waitFor(t, "the snapshot to be given back", func() bool {
		begun, ended := b.analytics.open()
		return begun == 1 && ended == 1
	})
	run(t, other, "SELECT pg_advisory_unlock(1)")
	if got := <-answered; len(got) != 5 || got[4] != io.EOF.Error() {
		t.Errorf("answers %q", got)
	}
}

// A client that is gone is noticed by PostgreSQL's own means.
func TestSession_letsPostgreSQLNoticeThatAClientIsGone(t *testing.T) {
	b := newOwnBed(t)
	certificate(t, b)
	for name, backend := range map[string]*tls.Config{"plain": nil, "TLS": {InsecureSkipVerify: true}} {
		t.Run(name, func(t *testing.T) {
			b.gateway(t, func(c *pgwire.Config) { c.BackendTLS = backend })
			other, c := connect(t, b.direct), connect(t, b.through)
			run(t, other, "SELECT pg_advisory_lock(1)")
			run(t, c, "SET client_connection_check_interval = '10ms'")
			pid := strconv.Itoa(int(c.PID()))
			conn := hijack(t, c)
			raw, err := (&pgproto3.Query{String: "SELECT pg_advisory_lock(1)"}).Encode(nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write(raw); err != nil {
				t.Fatal(err)
			}
			b.waitFor(t, "the statement to wait", func() bool {
				return len(run(t, other, "SELECT FROM pg_stat_activity WHERE wait_event = 'advisory' AND pid = "+pid)) == 1
			})
			conn.Close()
			b.waitFor(t, "the backend to end", func() bool {
				return len(run(t, other, "SELECT FROM pg_stat_activity WHERE pid = "+pid)) == 0
			})
		})
	}
}
