package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"

	"github.com/freshet-io/freshet/e2e/stand"
)

var errGivenUp = errors.New("the client is gone")

// scriptedConn ends every query as told, and leaves closing to its user, as ch-go sometimes does.
type scriptedConn struct {
	result           error
	closed, released int
}

func (c *scriptedConn) Do(context.Context, ch.Query) error { return c.result }
func (c *scriptedConn) Close() error                       { c.closed++; return nil }
func (c *scriptedConn) Release()                           { c.released++ }

func TestRunOn_keepsOnlyConnectionsWhoseQueryTheEngineEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		result error
		kept   bool
	}{
		"answered":               {nil, true},
		"refused by the engine":  {fmt.Errorf("handle packet: %w", &ch.Exception{Code: proto.ErrUnknownTable}), true},
		"given up by the client": {fmt.Errorf("decode block: %w", errGivenUp), false},
		"canceled":               {context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &scriptedConn{result: tc.result}
			if err := runOn(t.Context(), c, ch.Query{}); !errors.Is(err, tc.result) {
				t.Errorf("error %v, want %v", err, tc.result)
			}
			if kept := c.released == 1 && c.closed == 0; kept != tc.kept || c.released+c.closed != 1 {
				t.Errorf("released %d times, closed %d times; want it kept: %t", c.released, c.closed, tc.kept)
			}
		})
	}
}

func TestClassify_hidesHowAConnectionWasLost(t *testing.T) {
	for _, lost := range []error{
		io.EOF, io.ErrUnexpectedEOF, ch.ErrClosed, net.ErrClosed, &net.OpError{Op: "read", Err: syscall.ECONNRESET}, &net.OpError{Op: "write", Err: syscall.EPIPE},
		&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, os.ErrDeadlineExceeded,
	} {
		err := classify(t.Context(), fmt.Errorf("packet: %w", lost), nil)
		if !errors.Is(err, ErrUnavailable) || errors.Is(err, lost) {
			t.Errorf("%v: error %v, want one that is ErrUnavailable, and not io.EOF, which ends results", lost, err)
		}
	}
	if err := classify(t.Context(), errors.New("decode block: column GEOFENCE is not of type String"), nil); errors.Is(err, ErrUnavailable) {
		t.Errorf("an answer that is not understood counts as a lost connection: %v", err)
	}
}

func TestClient_answersRightAfterResultsThatWereGivenUp(t *testing.T) {
	server := stand.Engine(t)
	c, err := Open(t.Context(), Config{Addr: server.TCPAddr(), User: server.User, Password: server.Password, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 100 {
		var many, one proto.ColUInt64
		err := c.Query(t.Context(), "SELECT number AS n FROM numbers(1000000)", nil, proto.Results{{Name: "n", Data: &many}},
			func(int) error { return errGivenUp }, nil)
		if !errors.Is(err, errGivenUp) {
			t.Fatalf("the sink's error came as %v", err)
		}
		var got []uint64
		err = c.Query(t.Context(), fmt.Sprintf("SELECT toUInt64(%d) AS n", i+7_000_000), nil, proto.Results{{Name: "n", Data: &one}},
			func(int) error { got = append(got, one...); return nil }, nil)
		if err != nil || len(got) != 1 || got[0] != uint64(i+7_000_000) {
			t.Fatalf("round %d: answered %v, %v", i, got, err)
		}
	}
}

func TestClient_tellsTheCPUTimeWhileAQueryRuns(t *testing.T) {
	server := stand.Engine(t)
	c, err := Open(t.Context(), Config{Addr: server.TCPAddr(), User: server.User, Password: server.Password, MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var sum proto.ColUInt64
	var used time.Duration
	calls := 0
	settings := map[string]string{"max_execution_time": "0.7", "max_threads": "1"}
	err = c.Query(t.Context(), "SELECT sum(cityHash64(number)) AS s FROM numbers(100000000000)", settings, proto.Results{{Name: "s", Data: &sum}},
		func(int) error { return nil }, func(cpu time.Duration) { calls++; used += cpu })
	if exception, ok := errors.AsType[*ch.Exception](err); !ok || exception.Code != proto.ErrTimeoutExceeded {
		t.Fatalf("the query ended with %v, want the engine's time limit", err)
	}
	if calls < 2 || used <= 0 || used > 2*time.Second {
		t.Errorf("%v of CPU time in %d calls, of a query that one thread ran for 0.7 s", used, calls)
	}
}
