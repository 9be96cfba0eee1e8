package debezium

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/kafka"
	"github.com/freshet-io/freshet/connectors/postgres"
)

// worker stands in for Kafka Connect with one connector.
type worker struct {
	mu                         sync.Mutex
	state, trace               string
	connector                  string // its own state; RUNNING unless given
	restarts, registrations    int
	unknown, refusesEverything bool
}

func (w *worker) set(state, trace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state, w.trace = state, trace
}

func (w *worker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.refusesEverything:
		http.Error(rw, "no", http.StatusInternalServerError)
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/restart"):
		w.restarts++
		rw.WriteHeader(http.StatusAccepted)
	case r.Method == http.MethodPut:
		w.registrations++
		w.unknown = false
		rw.WriteHeader(http.StatusCreated)
	case w.unknown:
		http.NotFound(rw, r)
	default:
		_ = json.NewEncoder(rw).Encode(map[string]any{
			"connector": map[string]string{"state": cmp.Or(w.connector, stateRunning)}, "tasks": []map[string]string{{"state": w.state, "trace": w.trace}},
		})
	}
}

// newKeeper returns a keeper of a connector on a worker.
func newKeeper(t *testing.T) (*keeper, *worker) {
	t.Helper()
	w := &worker{state: stateRunning}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	s, err := New(Config{
		Postgres:  postgres.Config{URL: "postgres://u:p@127.0.0.1:1/d"},
		Transport: Transport{Kafka: kafka.Config{Brokers: []string{"127.0.0.1:1"}}, Connect: REST{URL: server.URL}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return &keeper{s: s}, w
}

func TestKeeper_restartsAFailedTaskWithABoundAndTells(t *testing.T) {
	k, w := newKeeper(t)
	now := time.Unix(1_000_000, 0)
	look := func(d time.Duration) {
		t.Helper()
		for end := now.Add(d); now.Before(end); now = now.Add(slotInterval) {
			if err := k.look(t.Context(), now); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.set(stateFailed, "org.apache.kafka.connect.errors.ConnectException: x\n\tat y\nCaused by: java.io.IOException: disk full\n\tat z")
	look(10 * time.Second)
	if w.restarts < 2 || w.restarts > 4 {
		t.Errorf("%d restarts in the first 10 s, want a few", w.restarts)
	}
	look(10 * time.Minute)
	if w.restarts != mostRestarts {
		t.Errorf("%d restarts, want %d", w.restarts, mostRestarts)
	}
	problem := k.s.problem.Load()
	if problem == nil || problem.Code != cdc.CodeConnectorFailed || !strings.Contains(problem.Detail, "disk full") || problem.Remedy == "" {
		t.Fatalf("it tells %v, want the cause", problem)
	}
	w.set(stateRunning, "")
	look(30 * time.Second)
	if problem := k.s.problem.Load(); problem != nil {
		t.Errorf("the task runs and it still tells %v", problem)
	}
	look(2 * time.Minute)
	w.set(stateFailed, "again")
	look(10 * time.Second)
	if w.restarts <= mostRestarts {
		t.Error("a task that ran for long is not restarted when it fails again")
	}
}

func TestKeeper_doesNotGiveUpAConnectorThatDelivers(t *testing.T) {
	k, w := newKeeper(t)
	now := time.Unix(1_000_000, 0)
	for n := 1; n <= 3*mostRestarts; n++ {
		w.set(stateFailed, "java.io.EOFException: the database went away")
		if err := k.look(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		if w.restarts != n {
			t.Fatalf("%d restarts after failure %d", w.restarts, n)
		}
		w.set(stateRunning, "")
		k.s.streamed.Add(1)
		now = now.Add(slotInterval)
	}
	if problem := k.s.problem.Load(); problem != nil {
		t.Errorf("it tells %v of a connector that works between failures", problem)
	}
}

func TestKeeper_endsTheStreamWhenTheSlotWasMadeAnew(t *testing.T) {
	k, w := newKeeper(t)
	w.set(stateFailed, "io.debezium.DebeziumException: Cannot seek to the last known offset '0/1' on replication slot 'freshet'.")
	var terminal *cdc.TerminalError
	if err := k.look(t.Context(), time.Unix(1, 0)); !errors.As(err, &terminal) || terminal.Code != cdc.CodeSlotLost || w.restarts != 0 {
		t.Fatalf("error %v after %d restarts, want SlotLost at once", err, w.restarts)
	}
}

func TestKeeper_registersAConnectorThatStaysUnknown(t *testing.T) {
	k, w := newKeeper(t)
	w.unknown = true
	at := time.Unix(1, 0)
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{0, 0}, {goneAfter / 2, 0}, {goneAfter, 1}, {2 * goneAfter, 1}} {
		if err := k.look(t.Context(), at.Add(c.after)); err != nil {
			t.Fatal(err)
		}
		if w.registrations != c.want {
			t.Errorf("after %v: %d registrations, want %d", c.after, w.registrations, c.want)
		}
	}
}

func TestKeeper_tellsOfAConnectorThatIsHalted(t *testing.T) {
	for _, state := range []string{statePaused, stateStopped} {
		k, w := newKeeper(t)
		at := time.Unix(1, 0)
		for _, c := range []struct {
			after time.Duration
			state string
			told  bool
		}{
			{0, state, false}, {haltedAfter / 2, stateRunning, false}, {haltedAfter, state, false}, {2*haltedAfter - 1, state, false},
			{2 * haltedAfter, state, true}, {3 * haltedAfter, state, true}, {3*haltedAfter + 1, stateRunning, false},
		} {
			w.connector = c.state
			if err := k.look(t.Context(), at.Add(c.after)); err != nil {
				t.Fatal(err)
			}
			problem := k.s.problem.Load()
			if told := problem != nil; told != c.told {
				t.Errorf("%s after %v: told is %v, want %v", c.state, c.after, problem, c.told)
			}
			if problem != nil && (problem.Code != cdc.CodeConnectorHalted || !strings.Contains(problem.Detail, state) || !strings.Contains(problem.Remedy, "resume")) {
				t.Errorf("it tells %v", problem)
			}
		}
	}
}

func TestKeeper_goesOnWhileConnectDoesNotAnswer(t *testing.T) {
	k, w := newKeeper(t)
	w.refusesEverything = true
	if err := k.look(t.Context(), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if !k.silent {
		t.Error("it did not notice")
	}
}

func TestREST_refusesToSendAPasswordUnencrypted(t *testing.T) {
	for want, cfg := range map[string]REST{
		"unencrypted": {URL: "http://connect:8083", User: "u"},
		"use https":   {URL: "http://connect:8083", TLS: &kafka.TLS{}},
	} {
		if _, err := newConnectClient(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that says %q", err, want)
		}
	}
}

func TestREST_refusesAnAddressWithoutTellingThePasswordInIt(t *testing.T) {
	for address, want := range map[string]string{
		"https://u:hunter@connect:8083":    "give user and password",
		"connect:8083":                     "give http://host:port",
		"https://u:hunter%zz@connect:8083": "give http://host:port",
		"https://u:hunter/2@connect:8083":  "give http://host:port",
		"u:hunter@connect:8083":            "give http://host:port",
	} {
		if _, err := newConnectClient(REST{URL: address}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("address %s: error %v, want one that says %q and no password", address, err, want)
		}
	}
}
