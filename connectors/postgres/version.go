package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// versionsSQL asks for versions together with the transactions that the answer does not see yet.
var versionsSQL = "SELECT pg_current_snapshot()::text, c.oid, " + publishedVersion + `
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = ANY ($1)`

// Versions asks again for a transaction to become visible that the stream has handed over: usually at once, later more seldom.
const (
	firstUnseenPause = time.Millisecond
	lastUnseenPause  = 50 * time.Millisecond
)

// Versions returns the present versions of tables and views (see [cdc.Table], [cdc.View]); one that does not exist is left out. A change
// of definition that was committed before any position that the stream has reached shows. So a copy that has the version
// returned has had no such change up to any position that was reached before the call.
//
// A transaction is streamed as soon as its commit is flushed, but seen by others a moment later only, or when a
// synchronous standby has it: Versions waits for that.
func (s *Source) Versions(ctx context.Context, ids []cdc.TableID) (map[cdc.TableID]string, error) {
	oids := make([]uint32, len(ids))
	for i, id := range ids {
		oids[i] = uint32(id)
	}
	for wait := firstUnseenPause; ; wait = min(2*wait, lastUnseenPause) {
		versions, snapshot, err := s.readVersions(ctx, s.pool, oids)
		if err != nil {
			return nil, fmt.Errorf("read versions of tables: %w", err)
		}
		unseen, err := s.handedOver.unseen(snapshot)
		if err != nil {
			return nil, err
		}
		if !unseen {
			s.lookAtNews(versions)
			return versions, nil
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// querier is a connection, a transaction or a pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func (s *Source) readVersions(ctx context.Context, q querier, oids []uint32) (versions map[cdc.TableID]string, snapshot string, err error) {
	rows, err := q.Query(ctx, versionsSQL, oids, s.cfg.Publication)
	if err != nil {
		return nil, "", err
	}
	versions = make(map[cdc.TableID]string, len(oids))
	var id uint32
	var version string
	_, err = pgx.ForEachRow(rows, []any{&snapshot, &id, &version}, func() error {
		versions[cdc.TableID(id)] = version
		return nil
	})
	return versions, snapshot, err
}

// Look has the watcher look at the catalog soon, where definitions may have changed.
func (s *Source) Look() {
	select {
	case s.look <- struct{}{}:
	default: // it will already
	}
}

// lookAtNews has the watcher look at the catalog if a version is not the one that it knows.
func (s *Source) lookAtNews(versions map[cdc.TableID]string) {
	for id, v := range versions {
		if d, _ := s.registry.get(id); d != nil && d.table.Version != v {
			s.Look()
			return
		}
	}
}

// recentTransactions remembers the transactions handed over last. Those that others do not see yet are among them:
// their backends still wait, so that there are never more of them than connections.
type recentTransactions struct {
	mu     sync.Mutex
	xids   [4096]uint32
	n      int
	newest uint32
}

func (r *recentTransactions) note(xid uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.xids[r.n%len(r.xids)] = xid
	if r.n == 0 || int32(xid-r.newest) > 0 {
		r.newest = xid
	}
	r.n++
}

// unseen reports whether a snapshot (xmin:xmax:in progress, …) misses one of them.
func (r *recentTransactions) unseen(snapshot string) (bool, error) {
	if snapshot == "" { // no table was found, whatever it is
		return false, nil
	}
	parts := strings.SplitN(snapshot, ":", 3)
	if len(parts) != 3 {
		return false, fmt.Errorf("read snapshot %q: want xmin:xmax:list", snapshot)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	xmax, err := parseXID(parts[1])
	if err != nil {
		return false, err
	}
	if r.n > 0 && int32(r.newest-xmax) >= 0 {
		return true, nil
	}
	if parts[2] == "" {
		return false, nil
	}
	for text := range strings.SplitSeq(parts[2], ",") {
		xid, err := parseXID(text)
		if err != nil {
			return false, err
		}
		for _, known := range r.xids[:min(r.n, len(r.xids))] {
			if known == xid {
				return true, nil
			}
		}
	}
	return false, nil
}

// parseXID reads a transaction ID with epoch and returns it without, as the stream has it.
func parseXID(text string) (uint32, error) {
	x, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read transaction ID %q: %w", text, err)
	}
	return uint32(x), nil
}
