package unit_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/server"
	"github.com/freshet-io/freshet/operator/internal/unit"
)

// serve returns a client and the address of a gateway that answers with h.
func serve(t *testing.T, h http.HandlerFunc) (*unit.Client, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	host, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	return unit.NewClient(number), host
}

func TestStatus_readsWhatAGatewayWrites(t *testing.T) {
	stopped := &server.Stopped{Code: cdc.CodeNoKey, Detail: "no key", Remedy: "add one"}
	client, ip := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/status" {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(server.Status{
			Ready: true, Position: "0/1A2B", StalenessMS: 12.5, Stopped: stopped, Problem: "slow",
			Tables: []server.TableStatus{{Table: "public.t", Phase: unit.PhaseCopying, Rows: 3, Stopped: stopped}},
		})
	})
	got, err := client.Status(t.Context(), ip)
	if err != nil {
		t.Fatal(err)
	}
	same := &unit.Stopped{Code: "NoKey", Detail: "no key", Remedy: "add one"}
	want := unit.Status{
		Ready: true, Position: "0/1A2B", StalenessMS: 12.5, Stopped: same, Problem: "slow",
		Tables: []unit.Table{{Table: "public.t", Phase: "copying", Stopped: same}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStatus_failsWhereTheAnswerIsNoStatus(t *testing.T) {
	for body, want := range map[string]string{"": "read the answer", "<html>": "read the answer"} {
		client, ip := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		if _, err := client.Status(t.Context(), ip); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("answer %q: %v", body, err)
		}
	}
	client, ip := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	if _, err := client.Status(t.Context(), ip); err == nil || !strings.Contains(err.Error(), "418") {
		t.Errorf("answer 418: %v", err)
	}
}
