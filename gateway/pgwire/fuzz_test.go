package pgwire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/gateway/cursor"
)

// FuzzStartup feeds arbitrary bytes to the start of a connection: it must end, and take bounded memory.
func FuzzStartup(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x08\x04\xd2\x16\x2f"))
	f.Add([]byte("\x00\x00\x00\x08\x04\xd2\x16\x30\x00\x00\x00\x08\x04\xd2\x16\x2f"))
	f.Add([]byte("\x00\x00\x00\x21\x00\x03\x00\x00user\x00a\x00options\x00-c freshet.route=x\x00\x00"))
	f.Add([]byte("\x16\x03\x01\x00\x10abcdefghijklmnop"))
	f.Fuzz(func(t *testing.T, input []byte) {
		client, server := net.Pipe()
		defer server.Close()
		go func() {
			_, _ = client.Write(input)
			client.Close()
		}()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, packet, err := negotiate(ctx, server, nil)
		if err != nil {
			return
		}
		if len(packet.raw) > maxStartup || len(packet.raw) < 8 {
			t.Errorf("a startup packet of %d bytes was let through", len(packet.raw))
		}
		var s Settings
		for name, value := range settingsAtStart(packet.parameters()) {
			if err := s.set(name, value); err != nil && errors.As(err, new(*Error)) == false {
				t.Errorf("error %v has no SQLSTATE", err)
			}
		}
	})
}

// wordAnalytics makes no statement a candidate: what it relays must come out as it went in.
type wordAnalytics struct{ Analytics }

func (wordAnalytics) Candidate(string) Candidate             { return Candidate{NoData: true} }
func (wordAnalytics) HiddenEffects() bool                    { return false }
func (wordAnalytics) Cursor(string) (cursor.Statement, bool) { return cursor.Statement{}, false }
func (wordAnalytics) Generation() uint64                     { return 0 }

// FuzzMessages feeds arbitrary bytes, in pieces, to a session that relays: PostgreSQL must get exactly them.
func FuzzMessages(f *testing.F) {
	seed := func(messages ...interface{ Encode([]byte) ([]byte, error) }) {
		f.Add(encode(nil, messages...), uint8(7))
	}
	seed(&pgproto3.Query{String: "SELECT 1"}, &pgproto3.Query{String: "BEGIN READ ONLY"}, &pgproto3.Terminate{})
	seed(&pgproto3.Parse{Name: "a", Query: "SET x = 1"}, &pgproto3.Bind{PreparedStatement: "a"}, &pgproto3.Describe{ObjectType: 'P'}, &pgproto3.Execute{}, &pgproto3.Sync{})
	seed(&pgproto3.CopyData{Data: []byte("x")}, &pgproto3.CopyDone{}, &pgproto3.Close{ObjectType: 'S', Name: "a"}, &pgproto3.Flush{})
	f.Add([]byte("Q\x00\x00\x00\x02P\xff\xff\xff\xffabc"), uint8(1))
	f.Fuzz(func(t *testing.T, input []byte, piece uint8) {
		server := NewServer(Config{Analytics: wordAnalytics{}})
		from, client := net.Pipe()
		backend, to := net.Pipe()
		s := newSession(server, client, 1)
		s.server = to
		s.fromClient.conn, s.fromServer.conn = client, to
		s.flow.status = 'I'
		go func() {
			for rest := input; len(rest) > 0; {
				n := min(len(rest), int(piece)+1)
				if _, err := from.Write(rest[:n]); err != nil {
					break
				}
				rest = rest[n:]
			}
			from.Close()
		}()
		ended := make(chan error, 1)
		go func() {
			err := s.clientLoop()
			to.Close()
			ended <- err
		}()
		got, err := io.ReadAll(backend)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, io.EOF) {
			t.Errorf("the loop ended with %v", err)
		}
		if !bytes.HasPrefix(input, got) || len(input)-len(got) > 0 && !unfinished(input[len(got):]) {
			t.Errorf("sent %q, PostgreSQL got %q", input, got)
		}
	})
}

// unfinished reports whether b is the beginning of a message that is waited for.
func unfinished(b []byte) bool {
	if len(b) < headerSize {
		return true
	}
	_, size, ok := header(b)
	return ok && size <= maxHeld && len(b) < size
}

// FuzzServerMessages feeds arbitrary bytes to the other direction.
func FuzzServerMessages(f *testing.F) {
	f.Add(encode(nil, &pgproto3.ReadyForQuery{TxStatus: 'I'}, &pgproto3.ParameterStatus{Name: "a", Value: "b"}, &pgproto3.ErrorResponse{Message: "x"}))
	f.Add([]byte("Z\x00\x00\x00\x04S\x00\x00\x00\x05aG\x00\x00\x00\x04"))
	f.Fuzz(func(t *testing.T, input []byte) {
		s := newSession(NewServer(Config{}), nil, 1)
		end := s.scanServer(input, 0)
		if end < 0 || end > len(input) {
			t.Errorf("relays up to %d of %d bytes", end, len(input))
		}
	})
}
