package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/freshet-io/freshet/connectors/replica"
)

func TestUnit_staleTakesClientsOnlyWhileNoPeerIsFresh(t *testing.T) {
	t.Parallel()
	peer := func(code int) string {
		mux := http.NewServeMux()
		mux.HandleFunc("/freshz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		return s.Listener.Addr().String()
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, tc := range []struct {
		name, peers string
		ready       bool
	}{
		{name: "alone"},
		{name: "beside a fresh one", peers: peer(http.StatusOK)},
		{name: "beside another stale one", peers: peer(http.StatusServiceUnavailable), ready: true},
		{name: "beside one that is gone", peers: gone.Listener.Addr().String(), ready: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			u := newUnit(Config{Peers: tc.peers, Clock: time.Now}) // without a replica there is no fresh snapshot
			if err := u.ready(t.Context()); (err == nil) != tc.ready {
				t.Errorf("ready: %v, want ready %t", err, tc.ready)
			}
		})
	}
}

func TestUnit_isCopiedWhenItHasHadAllTablesOnce(t *testing.T) {
	t.Parallel()
	tables := func(phases ...replica.Phase) (all []replica.TableStatus) {
		for i, p := range phases {
			all = append(all, replica.TableStatus{Schema: "public", Name: string(rune('a' + i)), Phase: p})
		}
		return all
	}
	const c, r, s = replica.PhaseCopying, replica.PhaseReady, replica.PhaseStopped
	u := newUnit(Config{})
	var got []string
	for _, seen := range [][]replica.TableStatus{tables(c, c, c, c, c, c, c), tables(r, c, s), tables(r, r, s), tables(r, r, s, c)} {
		why := ""
		if err := u.copied(seen); err != nil {
			why = err.Error()
		}
		got = append(got, why)
	}
	const unready = "the gateway is new, and tables are being copied: "
	want := []string{unready + "public.a, public.b, public.c, public.d, public.e, and 2 more", unready + "public.b", "", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
