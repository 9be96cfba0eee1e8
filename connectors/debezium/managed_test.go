//go:build kafka

package debezium_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/cdc/sourcetest"
	"github.com/freshet-io/freshet/connectors/debezium"
	access "github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/connectors/postgres"
	"github.com/freshet-io/freshet/e2e/stand"
)

// keep plays who keeps a connector, as Strimzi and the operator do together: the connector is there, runs while its slot and publication are, and
// is stopped otherwise. It reads the database's password where the worker finds it, as Strimzi's does.
func (b *testbed) keep(name string) (end func()) {
	b.t.Helper()
	settings, err := debezium.ConnectorSettings(debezium.Config{
		Postgres: postgres.Config{URL: b.url, Slot: b.name}, Transport: debezium.Transport{Kafka: access.Config{Brokers: []string{"unused"}}, Prefix: b.name},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	settings["database.password"] = "${database:" + b.stack.secretDir() + ":password}"
	ctx, cancel := context.WithCancel(context.Background())
	var keeping sync.WaitGroup
	keeping.Go(func() {
		b.ask(ctx, http.MethodPost, "", map[string]any{"name": name, "config": settings, "initial_state": "STOPPED"})
		for was := "stop"; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			if is := b.wanted(ctx); is != was {
				b.ask(ctx, http.MethodPut, "/"+name+"/"+is, nil)
				was = is
			}
		}
	})
	end = sync.OnceFunc(func() {
		cancel()
		keeping.Wait()
		b.ask(stand.Within(b.t, time.Minute), http.MethodDelete, "/"+name, nil)
	})
	b.t.Cleanup(func() {
		end()
		b.awaitFreeSlot()
	})
	return end
}

// wanted is what is to be done with the connector now.
func (b *testbed) wanted(ctx context.Context) string {
	conn, err := pgx.Connect(ctx, b.url)
	if err != nil {
		return "stop"
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	both := false
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1) AND EXISTS (SELECT FROM pg_publication WHERE pubname = $1)`, b.name).Scan(&both)
	if err != nil || !both {
		return "stop"
	}
	return "resume"
}

// ask asks Kafka Connect until it is not busy.
func (b *testbed) ask(ctx context.Context, method, path string, body any) {
	for {
		content, err := json.Marshal(body)
		if err != nil {
			b.t.Error(err)
			return
		}
		req, err := http.NewRequestWithContext(ctx, method, b.stack.connect.URL()+"/connectors"+path, bytes.NewReader(content))
		if err != nil {
			b.t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			if ctx.Err() == nil {
				b.t.Error(err)
			}
			return
		}
		answer, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		switch {
		case resp.StatusCode == http.StatusConflict:
			time.Sleep(100 * time.Millisecond)
			continue
		case resp.StatusCode >= 300:
			b.t.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
		}
		return
	}
}

func TestSource_followsAConnectorThatSomebodyElseKeeps(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	name := b.name + "-kept"
	managed := func(c *debezium.Config) { c.Connector = debezium.Connector{ManagedAs: name} }
	follow := func(rows string) (stop func()) {
		t.Helper()
		src, m := b.newSource(managed), sourcetest.NewModel()
		stop = m.Start(t, src)
		if err := m.CatchUpAndCompare(b.url); err != nil {
			t.Fatal(err)
		}
		b.exec("INSERT INTO t SELECT generate_series(" + rows + ")")
		if err := m.CatchUpAndCompare(b.url); err != nil {
			t.Fatal(err)
		}
		if h := src.Health(stand.Within(t, time.Minute)); h.Connector != "RUNNING" || h.Unknown != nil {
			t.Errorf("the connector is said to be %q (%v)", h.Connector, h.Unknown)
		}
		return stop
	}
	end := b.keep(name)
	stop := follow("1, 1000")
	stop()

	// What Kafka Connect recorded of the connector outlives it; one of the same name with a new slot begins anew.
	end()
	b.awaitFreeSlot()
	if err := b.newSource(managed).Remove(stand.Within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	b.exec("INSERT INTO t SELECT generate_series(1001, 2000)")
	end = b.keep(name)
	stop = follow("2001, 3000")
	stop()
	end()
	b.awaitFreeSlot()
}

func TestTables_resumesAPausedConnector(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	m, src := sourcetest.NewModel(), b.newSource()
	stop := m.Start(t, src)
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
	b.ask(stand.Within(t, time.Minute), http.MethodPut, "/"+b.name+"/pause", nil)
	told := stand.Within(t, time.Minute)
	for h := src.Health(told); h.Problem == nil || h.Problem.Code != cdc.CodeConnectorHalted; h = src.Health(told) {
		select {
		case <-told.Done():
			t.Fatalf("of the paused connector nothing is told: %+v", h)
		case <-time.After(100 * time.Millisecond):
		}
	}
	stop()
	b.exec("INSERT INTO t SELECT generate_series(1, 100)")
	m.Start(t, b.newSource())
	if err := m.CatchUpAndCompare(b.url); err != nil {
		t.Fatal(err)
	}
}

func TestTables_saysThatNobodyKeepsTheConnector(t *testing.T) {
	b := newTestbed(t, "CREATE TABLE t (id int PRIMARY KEY)")
	src := b.newSource(func(c *debezium.Config) {
		c.Connector, c.StartWait = debezium.Connector{ManagedAs: b.name + "-missing"}, 2*time.Second
	})
	_, err := src.Tables(stand.Within(t, time.Minute))
	want := fmt.Sprintf("wait for connector %s-missing to be stopped: it is not there, or not stopped, after 2s; see who keeps it, and its status in Kafka Connect", b.name)
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
	if st, err := src.ConnectorStatus(stand.Within(t, time.Minute)); err != nil || st != (debezium.ConnectorStatus{}) {
		t.Errorf("the source has registered it itself: %+v, %v", st, err)
	}
}
