package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
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
