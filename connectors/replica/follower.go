package replica

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
)

// follower begins to follow the lines of tables' rows (package lineage), one table at a time. It reads a table for
// that, which may take long; nothing waits for it.
type follower struct {
	s    *session
	conn *engine.Conn
	digester
	// queue has a place for each table whose steady columns were found out; there is at most one for a table.
	queue chan followed
}

// followed is a table and its steady columns, nil: none.
type followed struct {
	table   *table
	columns []int
}

// mostQueued is how many tables may wait for the follower.
const mostQueued = 64

// request hands a table over. It runs on the publisher's goroutine.
func (f *follower) request(t *table, columns []int) {
	select {
	case f.queue <- followed{t, columns}:
		t.stored.busy = true
	default: // it is found out anew
	}
}

func (f *follower) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case next := <-f.queue:
			if err := f.follow(ctx, next); err != nil {
				return fmt.Errorf("follow the rows of table %s: %w", next.table.def.FullName(), err)
			}
		}
	}
}

// follow begins to follow the lines of a table's rows, and finds the digests of those that are there.
func (f *follower) follow(ctx context.Context, next followed) error {
	p, st, def := f.s.publisher, &next.table.stored, next.table.def
	var columns []int
	var seed maphash.Seed
	err := p.do(ctx, func() {
		columns = next.columns
		if known := st.lineage.Columns(); known != nil {
			columns = slices.DeleteFunc(columns, func(k int) bool { return !slices.Contains(known, k) })
			if len(columns) == len(known) {
				columns = nil // the rows were deleted, or changed back
			}
		}
		st.lineage.Follow(columns, p.epoch)
		seed = st.lineage.Seed()
	})
	if err == nil && columns != nil {
		err = f.readDigests(ctx, def, columns, seed)
	}
	failed := columns == nil || engine.Refused(err)
	if engine.Refused(err) {
		f.s.log.Warn("queries of steady columns read all of a table", "table", def.FullName(), "why", err)
		err = nil
	}
	if err != nil {
		return err
	}
	return p.do(ctx, func() {
		st.busy, st.broken = false, 0
		if failed {
			st.failed()
			st.lineage.Follow(nil, p.epoch)
		}
	})
}

// readDigests finds the digests of the rows of the newest snapshot. Rows that are born later get theirs when they are.
func (f *follower) readDigests(ctx context.Context, def *cdc.Table, columns []int, seed maphash.Seed) error {
	s, err := f.s.r.Acquire(ctx, Request{})
	if _, ok := errors.AsType[*UnavailableError](err); ok {
		return nil // as if all had changed
	}
	if err != nil {
		return err
	}
	defer s.Release() // its row ids are given to no other rows as long as it is held
	read, err := newReading(def, columns)
	if err != nil {
		return err
	}
	relation, ok := s.Relation(def.ID, read.names)
	if now, _ := s.Table(def.ID); !ok || now != def {
		return nil // gone, or copied anew
	}
	var digests []uint64
	return f.conn.Query(ctx, fmt.Sprintf("SELECT %s FROM %s SETTINGS max_block_size = %d", quoteAll(read.names), relation, digestBlock),
		read.result, func(n int) error {
			digests = digests[:0]
			for i := range n {
				digests = append(digests, f.digest(seed, read.rows, read.all, i))
			}
			return f.found(ctx, read.rows.RID[:n], digests)
		})
}

// found notes the digests of rows. The engine waits for that meanwhile, and gives up a query that it waits for too long, so that the publisher
// takes it in the middle of an epoch, too: a row that has been replaced there counts as changed.
func (f *follower) found(ctx context.Context, rids []uint32, digests []uint64) error {
	p := f.s.publisher
	return p.doAside(ctx, func() {
		for i, rid := range rids {
			p.digests.Set(rid, digests[i])
		}
	})
}

// digestBlock is how many rows readDigests reads at a time.
const digestBlock = 8192
