package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/freshet-io/freshet/connectors/replica"
)

// ready returns why clients should not be led to this gateway. A stale one takes them only while no other is fresh: it would send their
// analytical queries to the database, but their transactions must always find an endpoint. For the same reason one that has been asked to
// end stays ready: Kubernetes leads nobody to a pod that ends but while there is no other.
func (u *unit) ready(ctx context.Context) error {
	stale := u.fresh()
	if stale == nil || u.cfg.Peers == "" {
		return stale
	}
	if peer := freshPeer(ctx, u.cfg.Peers); peer != "" {
		return fmt.Errorf("%w, and %s is fresh", stale, peer)
	}
	return nil
}

// fresh returns why this gateway is not fresh.
func (u *unit) fresh() error {
	_, err := u.observe()
	return err
}

// copied returns which of a fresh snapshot's tables are still being copied, if the gateway is new. Clients are led to one that can
// answer them on its replica; when it could once, a new table is no reason to send away those who read all the others.
func (u *unit) copied(tables []replica.TableStatus) error {
	err := u.whole(tables)
	if err == nil {
		u.complete.Store(true)
	}
	return err
}

// whole returns which tables a snapshot lacks, if the gateway is new.
func (u *unit) whole(tables []replica.TableStatus) error {
	if u.complete.Load() {
		return nil
	}
	var copying []string
	for _, t := range tables {
		if t.Phase == replica.PhaseCopying {
			copying = append(copying, t.Schema+"."+t.Name)
		}
	}
	switch n := len(copying); {
	case n == 0:
		return nil
	case n > namedTables:
		copying = append(copying[:namedTables], fmt.Sprintf("and %d more", n-namedTables))
	}
	return fmt.Errorf("the gateway is new, and tables are being copied: %s", strings.Join(copying, ", "))
}

// Whole implements [analytics.Replica].
func (u *unit) Whole() error {
	i, err := u.get()
	if err != nil {
		return err
	}
	return u.whole(i.replica.Tables())
}

// namedTables is how many tables a message names.
const namedTables = 5

// peerLimit bounds how long the others have to answer. It is less than load balancers wait.
const peerLimit = 700 * time.Millisecond

// freshPeer returns the address of a gateway that is fresh, of those that a name leads to. Who does not answer is not fresh.
func freshPeer(ctx context.Context, peers string) string {
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	host, port, err := net.SplitHostPort(peers)
	if err != nil {
		return "" // Config.withDefaults refuses it
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		return ""
	}
	found := make(chan string, len(addresses))
	var asked sync.WaitGroup
	for _, address := range addresses {
		asked.Go(func() {
			peer := net.JoinHostPort(address, port)
			if isFresh(ctx, peer) {
				found <- peer
				cancel() // one is enough
			}
		})
	}
	asked.Wait()
	select {
	case peer := <-found:
		return peer
	default:
		return ""
	}
}

// peers asks gateways. No proxy stands between them, whatever the environment says of others.
var peers = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func isFresh(ctx context.Context, peer string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+peer+"/freshz", nil)
	if err != nil {
		return false
	}
	response, err := peers.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}
