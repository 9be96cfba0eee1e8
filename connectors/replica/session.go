package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/replica/engine"
	"github.com/freshet-io/freshet/connectors/replica/rowindex"
)

// errTorn says that a stream broke inside a transaction of which changes are
// staged already, and that it did not go on with the same transaction.
var errTorn = errors.New("the stream broke inside a transaction")

// session is the replica's life from one recovery to the next. Deltas, deaths,
// indexes and row ids live as long as it does.
type session struct {
	r       *Replica
	cfg     Config
	log     *slog.Logger
	src     cdc.Source
	ledger  *ledger
	rids    *rowindex.Allocator
	names   *names
	largeTx int // changes in one call that are taken for a large transaction
	// mostDeferred bounds what is kept for tables whose copy is being taken; beyond it the stream waits.
	mostDeferred int

	conns     []*engine.Conn // all that these have
	publisher *publisher
	compactor *compactor
	copier    *copier
	follower  *follower

	mu        sync.Mutex
	changed   sync.Cond // for those who wait in the handler
	tables    map[cdc.TableID]*table
	stopped   map[cdc.TableID]stoppedTable
	touched   []*table
	deferring map[*table]struct{} // tables that are not live
	waiting   map[*table]struct{} // of them, those that are behind
	arrived   cdc.Watermark
	inTx      bool
	ends      cdc.Position // the open transaction's position is not before it (see cdc.Opener); zero: not known
	resume    resume
	spill     bool // the open transaction is to be written, unpublished
	pressed   bool // the handler waits for the publisher
	// started says that arrived is a position of the stream.
	started       bool
	stagedBytes   int
	deferredBytes int
}

type stoppedTable struct {
	def *cdc.Table
	why *cdc.TableError
}

// names makes names of objects in the engine; none comes twice.
type names struct {
	mu   sync.Mutex
	last uint64
	// of is whose names they are: another process may not have noticed yet that it is the owner no more, and goes on making objects.
	of string
}

func (n *names) next(prefix string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	return fmt.Sprintf("%s_%s_%d", prefix, n.of, n.last)
}

func (n *names) highest() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

func (n *names) atLeast(last uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = max(n.last, last)
}

// run works until ctx ends, the engine fails or the source gives up for good.
func (s *session) run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.publisher.run(ctx) })
	g.Go(func() error { return s.compactor.run(ctx) })
	g.Go(func() error { return s.copier.run(ctx) })
	g.Go(func() error { return s.follower.run(ctx) })
	g.Go(func() error { return s.keepStreaming(ctx) })
	return g.Wait()
}

// close ends the connections. The snapshots stay readable as far as the engine still has their rows.
func (s *session) close() error {
	var err error
	for _, c := range s.conns {
		err = errors.Join(err, c.Close())
	}
	return err
}

// keepStreaming keeps the stream going: it finds out what to replicate, takes the
// first copies and streams, again and again after errors of the source.
func (s *session) keepStreaming(ctx context.Context) error {
	wait := newPauses(50*time.Millisecond, 5*time.Second)
	for {
		began := time.Now()
		err := s.stream(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var terminal *cdc.TerminalError
		var lost *engineError
		if errors.As(err, &terminal) || errors.Is(err, errTorn) || errors.As(err, &lost) && !engine.Refused(err) {
			return err
		}
		if time.Since(began) > wait.MaxInterval {
			wait.Reset()
		}
		s.r.sourceDown(err)
		if err := wait.sleep(ctx); err != nil {
			return err
		}
		if err := s.ownedStill(ctx); err != nil { // another owner may have ended the stream to have its slot
			return err
		}
	}
}

func (s *session) stream(ctx context.Context) error {
	found, err := s.src.Tables(ctx)
	if err != nil {
		return fmt.Errorf("list the source's tables: %w", err)
	}
	s.reconcile(found)
	if !s.hasStarted() {
		if err := s.begin(ctx); err != nil {
			return err
		}
	}
	s.r.sourceUp()
	s.mu.Lock()
	from := s.arrived.Position
	s.resume.rewind()
	s.mu.Unlock()
	if err := s.src.Stream(ctx, from, s); err != nil {
		return err
	}
	return errors.New("the source ended the stream")
}

func (s *session) hasStarted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started
}

// begin finds the watermark at which a new replica's stream begins: that of the first copies.
func (s *session) begin(ctx context.Context) error {
	at, ok, err := s.copier.first(ctx)
	if err != nil {
		return err
	}
	if !ok { // nothing to copy yet
		at.Time = s.r.clock()
		if at.Position, err = s.src.Current(ctx); err != nil {
			return fmt.Errorf("ask the source for its position: %w", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = true
	s.copier.request() // for tables that were given up meanwhile and are to be copied anew
	s.arrive(cdc.Position{}, at)
	return nil
}

// reconcile compares what the source has with what the replica has.
func (s *session) reconcile(found []cdc.Discovered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	there := map[cdc.TableID]bool{}
	for _, d := range found {
		there[d.Table.ID] = true
		if t, ok := s.tables[d.Table.ID]; ok && d.Stopped == nil &&
			(t.progress == copying || sameDefinition(t.def, d.Table)) {
			continue
		}
		if old, ok := s.stopped[d.Table.ID]; ok && d.Stopped == nil && sameDefinition(old.def, d.Table) {
			continue // stopped for a reason that the source does not know
		}
		s.discovered(d)
	}
	for id, t := range s.tables {
		if !there[id] {
			s.remove(t)
		}
	}
	for id := range s.stopped {
		if !there[id] {
			delete(s.stopped, id)
		}
	}
}

// copy asks for a copy of a table. It needs mu.
func (s *session) copy(def *cdc.Table, attempts int) {
	t := newTable(def, s.rids, attempts)
	s.tables[def.ID] = t
	s.deferring[t] = struct{}{}
	s.copier.request()
}

// makeDelta makes an empty delta with one holder.
func (s *session) makeDelta(ctx context.Context, conn *engine.Conn, def *cdc.Table, onDisk bool) (*object, error) {
	o := s.ledger.created(s.names.next(fmt.Sprintf("d_%d", def.ID)))
	o.volatile = !onDisk
	sql, err := createDelta(s.ledger.qualified(o), def, onDisk)
	if err == nil {
		err = conn.Exec(ctx, sql)
	}
	if err != nil {
		s.ledger.drop(o) // it may be there all the same
		return nil, err
	}
	return o, nil
}

// wake tells the publisher that there may be something to do.
func (s *session) wake() {
	select {
	case s.publisher.wake <- struct{}{}:
	default:
	}
}
