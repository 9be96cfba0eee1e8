package replica

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/connectors/replica/rowindex"
)

// replayGrace is how soon after a restart tables are compacted. Waiting for as long as usually, a replica that is killed
// more often than that would replay the same changes each time, and more of them.
const replayGrace = time.Second

// tidyLimit bounds the dropping and creating of tables at the start, which
// takes milliseconds each.
const tidyLimit = 30 * time.Second

// begin connects to the engine, repairs what is there and returns a session
// that goes on from the newest epoch record.
func (r *Replica) begin(ctx context.Context) (*session, error) {
	s, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.recover(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// recover drops what the last run left behind and takes over what its newest record names.
func (s *session) recover(ctx context.Context) error {
	conn := s.publisher.conn
	if err := conn.Exec(ctx, createRecords(s.cfg.Database)); err != nil {
		return err
	}
	if err := s.own(ctx); err != nil { // the last record of whoever was before cannot change any more, but for what is fenced
		return err
	}
	rec, err := readRecord(ctx, conn, s.cfg.Database)
	if engine.Damaged(err) {
		// A disk that was full may leave such files. What they recorded is still at the source.
		s.log.Warn("epoch record is damaged, all tables are copied anew", "error", err)
		rec, err = nil, nil
	}
	if err != nil {
		return err
	}
	if rec != nil && rec.Source != s.cfg.SourceID {
		return &cdc.TerminalError{Code: cdc.CodeSourceMismatch,
			Detail: fmt.Sprintf("the columnar data in database %q are of source %q, not of %q", s.cfg.Database, rec.Source, s.cfg.SourceID),
			Remedy: "connect to that source, name another database, or drop the database in the columnar engine to copy the tables anew"}
	}
	if err := s.fence(ctx, rec); err != nil {
		return err
	}
	tidy, cancel := context.WithTimeout(ctx, tidyLimit)
	defer cancel()
	if err := s.clear(tidy, rec); err != nil {
		return fmt.Errorf("drop what the last run left behind: %w", err)
	}
	if err := s.createVolatile(tidy); err != nil {
		return err
	}
	if err := s.restoreBookmark(rec); err != nil || rec == nil {
		return err
	}
	return s.restore(ctx, rec)
}

func (s *session) restoreBookmark(rec *record) error {
	source, ok := s.src.(cdc.Bookmarker)
	if !ok {
		return nil
	}
	var kept []byte
	if rec != nil {
		kept = rec.Bookmark
	}
	if err := source.Restore(kept); err != nil {
		return fmt.Errorf("restore the source's bookmark from the epoch record: %w", err)
	}
	return nil
}

// fenceStride is more than the records that a session can have under way, and leads to another partition.
const fenceStride = 10 * recordsPerPartition

// fence makes sure that a record which the last session sent, and which the
// engine may still be about to write, never becomes the newest: the bases that it
// names are about to be dropped.
func (s *session) fence(ctx context.Context, rec *record) error {
	conn := s.publisher.conn
	if rec == nil {
		if err := dropTable(ctx, conn, engine.Quote(s.cfg.Database)+"."+recordsTable); err != nil {
			return fmt.Errorf("begin the epoch records: %w", err)
		}
		return conn.Exec(ctx, createRecords(s.cfg.Database))
	}
	rec.Serial += fenceStride
	if err := writeRecord(ctx, conn, s.cfg.Database, rec); err != nil {
		return err
	}
	return dropOldRecords(ctx, conn, s.cfg.Database, rec.Serial)
}

// The connections of a session, by whose they are.
const (
	publisherConn = iota
	compactorConn
	followerConn
	firstInserter
	// inserters is how many tables of an epoch the publisher has written at a time.
	inserters = 3
)

// connect dials and makes an empty session.
func (r *Replica) connect(ctx context.Context) (*session, error) {
	first, err := engine.Dial(ctx, r.cfg.engine(""))
	if err != nil {
		return nil, err
	}
	err = first.Exec(ctx, "CREATE DATABASE IF NOT EXISTS "+engine.Quote(r.cfg.Database))
	if err = errors.Join(err, first.Close()); err != nil {
		return nil, err
	}
	conns := make([]*engine.Conn, 0, firstInserter+inserters)
	for i := range cap(conns) {
		cfg := r.cfg.engine(r.cfg.Database)
		// Beside queries that want all of the engine's CPU time, the publisher's statements took four times as long.
		cfg.Urgent = i == publisherConn || i >= firstInserter
		c, err := engine.Dial(ctx, cfg)
		if err != nil {
			for _, c := range conns {
				err = errors.Join(err, c.Close())
			}
			return nil, err
		}
		conns = append(conns, c)
	}
	s := &session{
		r: r, cfg: r.cfg, log: r.log, src: r.src, conns: conns, rids: &rowindex.Allocator{}, names: &r.names, largeTx: 1000, mostDeferred: maxDeferred,
		tables: map[cdc.TableID]*table{}, stopped: map[cdc.TableID]stoppedTable{},
		deferring: map[*table]struct{}{}, waiting: map[*table]struct{}{},
	}
	s.changed.L = &s.mu
	s.resume.again = -1
	s.publisher = &publisher{s: s, conn: conns[publisherConn], inserters: conns[firstInserter:], wake: make(chan struct{}, 1), requests: make(chan func()),
		asides: make(chan func()), tables: map[cdc.TableID]*table{}, stale: map[*table]struct{}{}, epoch: r.lastEpoch()}
	s.compactor = &compactor{s: s, conn: conns[compactorConn], wake: make(chan struct{}, 1), due: make(chan struct{}, 1)}
	s.copier = &copier{s: s, wake: make(chan struct{}, 1), busy: make(chan struct{}, 1)}
	s.copier.busy <- struct{}{}
	s.follower = &follower{s: s, conn: conns[followerConn], queue: make(chan followed, mostQueued)}
	s.ledger = &ledger{database: r.cfg.Database, volatile: r.cfg.volatile(), wake: func() {
		select {
		case s.compactor.wake <- struct{}{}:
		default:
		}
	}}
	return s, nil
}

// clear drops every table and dictionary that the record does not name. A
// dictionary goes before its source, which cannot go without.
func (s *session) clear(ctx context.Context, rec *record) error {
	conn, database := s.publisher.conn, engine.Literal(s.cfg.Database)
	keep := map[string]bool{recordsTable: true, ownersTable: true}
	if rec != nil {
		s.names.atLeast(rec.Objects)
		for _, t := range rec.Tables {
			keep[t.Base] = true
		}
	}
	objects, err := conn.Strings(ctx, fmt.Sprintf("SELECT name AS n FROM system.tables WHERE database IN (%s, %s)",
		database, engine.Literal(s.cfg.volatile())))
	if err != nil {
		return err
	}
	for _, o := range objects {
		var n uint64
		if i := strings.LastIndexByte(o, '_'); i >= 0 && !keep[o] {
			if _, err := fmt.Sscanf(o[i+1:], "%d", &n); err == nil {
				s.names.atLeast(n)
			}
		}
	}
	dictionaries, err := conn.Strings(ctx, "SELECT name AS n FROM system.dictionaries WHERE database = "+database)
	if err != nil {
		return err
	}
	for _, d := range dictionaries {
		if err := dropDictionary(ctx, conn, engine.Quote(s.cfg.Database)+"."+engine.Quote(d)); err != nil {
			return err
		}
	}
	if err := conn.Exec(ctx, "DROP DATABASE IF EXISTS "+engine.Quote(s.cfg.volatile())); err != nil {
		return err
	}
	tables, err := conn.Strings(ctx, "SELECT name AS n FROM system.tables WHERE database = "+database)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if keep[t] {
			continue
		}
		if err := dropTable(ctx, conn, engine.Quote(s.cfg.Database)+"."+engine.Quote(t)); err != nil {
			return err
		}
	}
	return nil
}

// createVolatile makes the table of deaths and the first mask, under names that were never used.
func (s *session) createVolatile(ctx context.Context) error {
	p, volatile := s.publisher, engine.Quote(s.cfg.volatile())
	p.deathsTable = volatile + "." + engine.Quote(s.names.next("deaths"))
	if err := p.conn.Exec(ctx, "CREATE DATABASE "+volatile+" ENGINE = Memory"); err != nil {
		return fmt.Errorf("create the database of what is in memory: %w", err)
	}
	if err := p.conn.Exec(ctx, createDeaths(p.deathsTable)); err != nil {
		return fmt.Errorf("create the table of deaths: %w", err)
	}
	return p.loadMask(ctx)
}

// restore takes over the bases that a record names.
func (s *session) restore(ctx context.Context, rec *record) error {
	c := s.compactor
	c.recordSerial, c.recordedAt, c.recordTime = rec.Serial, rec.Position, s.r.clock()
	s.publisher.epoch = max(s.publisher.epoch, rec.Epoch)
	var indexes []*rowindex.Index
	var restored []*table
	for _, rt := range rec.Tables {
		t := newTable(rt.Def, s.rids, 0)
		if err := t.prepare(rt.Def); err != nil {
			s.log.Warn("recorded table cannot be restored, it is copied anew", "table", rt.Def.FullName(), "why", err)
			continue
		}
		base := s.ledger.created(rt.Base)
		err := s.restoreIndex(ctx, t, base, rt.Rows)
		if err != nil && !engine.Refused(err) && !errors.Is(err, errWrongCount) && !errors.Is(err, errDuplicateKey) {
			return fmt.Errorf("restore table %s: %w", rt.Def.FullName(), err)
		}
		if err != nil {
			s.log.Warn("recorded table cannot be restored, it is copied anew", "table", rt.Def.FullName(), "why", err)
			s.ledger.drop(base)
			continue
		}
		s.ledger.hold(base) // for the record
		c.recorded = append(c.recorded, base)
		t.progress, t.activated = behind, &copied{base: base, upTo: rt.watermark(), rows: rt.Rows, physical: rt.Physical}
		t.stored.overdue = max(0, s.cfg.CompactInterval-replayGrace)
		indexes, restored = append(indexes, t.index), append(restored, t)
	}
	if twice := s.rids.Restore(indexes...); twice != rowindex.None {
		s.log.Warn("recorded tables share a row id, all are copied anew", "rid", twice)
		for _, t := range restored {
			s.ledger.drop(t.activated.base)
		}
		s.rids.Restore()
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range restored {
		s.tables[t.def.ID] = t
		s.waiting[t], s.deferring[t] = struct{}{}, struct{}{}
	}
	s.started = true
	s.arrive(cdc.Position{}, rec.watermark())
	return nil
}

// restoreIndex fills a table's index from the keys and row ids in its base.
func (s *session) restoreIndex(ctx context.Context, t *table, base *object, want int64) error {
	keys, err := newReading(t.def, t.def.Key)
	if err != nil {
		return err
	}
	unique := true
	err = s.publisher.conn.Query(ctx, fmt.Sprintf("SELECT %s FROM %s", quoteAll(keys.names), s.ledger.qualified(base)), keys.result, func(n int) error {
		for i := range n {
			t.key = keys.rows.AppendKey(t.key[:0], keys.all, i)
			unique = t.index.Insert(t.index.Hash(t.key), keys.rows.RID[i]) && unique
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !unique {
		return errDuplicateKey
	}
	if int64(t.index.Len()) != want {
		return fmt.Errorf("%w: %d instead of %d", errWrongCount, t.index.Len(), want)
	}
	return nil
}
