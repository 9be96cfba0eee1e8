package replica

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// What has arrived is waited for, but not for ever: the publisher may wait for an engine that hangs, or for the rest of a transaction.
func TestReplica_waitsForWhatArrivedAsLongAsItMayBeFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, _ := handling(t)
		r := s.r
		r.session, r.changed = s, make(chan struct{})
		ledger := &ledger{wake: func() {}}
		publish := func(major uint64) {
			r.setCurrent(ledger.open(&Snapshot{position: cdc.Position{Major: major}, mask: &object{}}))
		}
		arrive := func(major uint64) { r.arrived.Store(&cdc.Watermark{Position: cdc.Position{Major: major}}) }
		acquire := func(want uint64, wait time.Duration) {
			t.Helper()
			began := time.Now()
			got, err := r.Acquire(ctx, Request{Fresh: true})
			if err != nil {
				t.Fatal(err)
			}
			defer got.Release()
			if waited := time.Since(began); got.position.Major != want || waited != wait {
				t.Errorf("got the snapshot at %v after %v, want that at %d after %v", got.position, waited, want, wait)
			}
		}
		publish(1)
		arrive(2)
		acquire(1, freshLimit)
		acquire(1, 0) // known to be late
		arrive(3)
		acquire(1, 0)
		publish(2)
		time.AfterFunc(freshLimit/2, func() { publish(3) })
		acquire(3, freshLimit/2)
	})
}
