package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// tables are those of the CH-benCHmark, as a unit tells of them.
var tables = []string{
	"warehouse", "district", "customer", "history", "new_order", "orders", "order_line", "item", "stock", "region", "nation", "supplier",
}

// gateways play those of all units, each on an address of its own.
type gateways struct {
	server http.Server
	served errgroup.Group

	mu sync.Mutex
	// byPod are their addresses.
	byPod map[string]string
	// asked is when each address was last asked how it does; the zero time: never.
	asked map[string]time.Time
}

func newGateways() *gateways {
	g := &gateways{byPod: map[string]string{}, asked: map[string]time.Time{}}
	g.server.Handler = http.HandlerFunc(g.status)
	g.server.ReadHeaderTimeout = 5 * time.Second
	return g
}

// address is where a pod's gateway listens. Loopback has a network of addresses.
func (g *gateways) address(pod string, port int32) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ip, ok := g.byPod[pod]; ok {
		return ip, nil
	}
	n := len(g.byPod)
	ip := fmt.Sprintf("127.77.%d.%d", n/250, n%250+1)
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(int(port))))
	if err != nil {
		return "", fmt.Errorf("play a gateway: %w", err)
	}
	g.byPod[pod], g.asked[ip] = ip, time.Time{}
	g.served.Go(func() error {
		if err := g.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("play a gateway: %w", err)
		}
		return nil
	})
	return ip, nil
}

// close ends all of them.
func (g *gateways) close() error {
	return errors.Join(g.server.Close(), g.served.Wait())
}

// unasked is how many have not been asked since.
func (g *gateways) unasked(since time.Time) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := 0
	for _, at := range g.asked {
		if at.Before(since) {
			n++
		}
	}
	return n
}

// status answers as a fresh unit, whose position moves all the time.
func (g *gateways) status(w http.ResponseWriter, r *http.Request) {
	local := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	g.mu.Lock()
	g.asked[local.IP.String()] = time.Now()
	g.mu.Unlock()
	type table struct {
		Table string `json:"table"`
		Phase string `json:"phase"`
	}
	answer := struct {
		Ready       bool    `json:"ready"`
		Position    string  `json:"position"`
		StalenessMS float64 `json:"staleness_ms"`
		Tables      []table `json:"tables"`
	}{Ready: true, Position: fmt.Sprintf("0/%X", time.Now().UnixMilli()), StalenessMS: 20 + 800*rand.Float64()}
	for _, t := range tables {
		answer.Tables = append(answer.Tables, table{"public." + t, "ready"})
	}
	_ = json.NewEncoder(w).Encode(answer) // who asked may have gone
}

// awaitAsked waits until every gateway has been asked since.
func (g *gateways) awaitAsked(ctx context.Context, since time.Time) error {
	return poll(ctx, func() (string, error) {
		if n := g.unasked(since); n > 0 {
			return fmt.Sprintf("%d units were not asked how they do", n), nil
		}
		return "", nil
	})
}

// poll calls f until it has nothing more to wait for. What it waits for is told where ctx ends before.
func poll(ctx context.Context, f func() (waitsFor string, err error)) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		what, err := f()
		if err != nil || what == "" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ctx.Err(), what)
		case <-tick.C:
		}
	}
}
