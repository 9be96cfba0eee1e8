package engine

import (
	"context"
	"errors"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/freshet-io/freshet/e2e/stand"
)

func TestConn_returnsWhenItsContextEndsThoughTheEngineIsSilent(t *testing.T) {
	server := stand.Engine(t)
	c, err := Dial(t.Context(), Config{Addr: server.TCPAddr(), User: server.User, Password: server.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- c.Exec(ctx, "SELECT sleepEachRow(0.01) FROM numbers(1000000) SETTINGS function_sleep_max_microseconds_per_block = 0")
	}()
	watcher, err := Dial(t.Context(), Config{Addr: server.TCPAddr(), User: server.User, Password: server.Password})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	for running := uint64(0); running == 0; {
		if running, err = watcher.Count(t.Context(), "SELECT count() AS n FROM system.processes WHERE query LIKE 'SELECT sleepEachRow%'"); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Identity().Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Identity().Signal(syscall.SIGCONT) }()
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the statement ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the statement goes on")
	}
}

// The local engine stands back behind what feeds it, but for what the connection calls urgent.
func TestConn_urgentStatementsComeBeforeOthers(t *testing.T) {
	server := stand.Engine(t)
	nice := func(urgent bool) int {
		c, err := Dial(t.Context(), Config{Addr: server.TCPAddr(), User: server.User, Password: server.Password, Urgent: urgent})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		values, err := c.Strings(t.Context(), "SELECT value AS n FROM system.settings WHERE name = 'os_threads_nice_value_query'")
		if err != nil || len(values) != 1 {
			t.Fatal(values, err)
		}
		n, err := strconv.Atoi(values[0])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if urgent, other := nice(true), nice(false); urgent != urgentNice || other <= 0 {
		t.Errorf("urgent statements have priority %d and others %d, want %d and what the engine was started with", urgent, other, urgentNice)
	}
}
