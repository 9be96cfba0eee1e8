package analytics

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/sqlshape"
	"github.com/freshet-io/freshet/gateway/translate"
)

const reasonIndexed = "PostgreSQL answers it from an index"

// verdictLife is how long PostgreSQL's planner is not asked for a statement again.
const verdictLife = time.Minute

// verdictWait is how long a session waits for one that another has asked for. That one's connection to PostgreSQL may hang.
const verdictWait = time.Second

// manyRows is the size of a table from which on PostgreSQL's planner is asked. Smaller ones take either side next to no time.
const manyRows = 10_000

// verdicts remembers for which statements PostgreSQL is the faster store.
type verdicts struct {
	hasher sqlshape.Hasher
	mu     sync.Mutex
	known  *lru.Cache[string, *verdict]
}

// verdict is what PostgreSQL's plan of a statement says.
type verdict struct {
	at time.Time
	// made is closed once indexed is there.
	made chan struct{}
	// indexed says that PostgreSQL answers the statement from an index.
	indexed bool
}

// weighed names a statement by what its verdict depends on. The variants of a shape differ in those constants that may change PostgreSQL's plan.
// A verdict "from an index" is remembered for its variant alone, and the next variant is asked for. The first verdict "not from an index" is remembered
// for the whole shape: while it lasts, variants without a verdict of their own go to the replica unasked.
type weighed struct{ shape, variant string }

func newVerdicts(size int) (*verdicts, error) {
	known, err := lru.New[string, *verdict](size)
	if err != nil {
		return nil, fmt.Errorf("make cache of verdicts: %w", err)
	}
	return &verdicts{hasher: sqlshape.NewHasher(), known: known}, nil
}

// weighed returns how a statement's verdict is named; ok is false where PostgreSQL's planner has no say.
func (r *Router) weighed(s *pgwire.SessionInfo, st pgwire.Statement) (w weighed, ok bool) {
	if s.Settings.Route != pgwire.RouteAuto || s.Tx != nil || s.AskPlan == nil || r.cfg.Dialect != translate.PostgreSQL || len(st.SQL) > pgwire.MaxRememberedText {
		return weighed{}, false
	}
	tree, err := r.tree(st.SQL)
	if err != nil {
		return weighed{}, false
	}
	b := binary.BigEndian.AppendUint64(nil, r.verdicts.hasher.Hash(st.SQL))
	for _, oid := range st.ParamOIDs {
		b = binary.BigEndian.AppendUint32(b, oid)
	}
	w.shape = string(b) + strings.Join(s.SearchPath, "\x00")
	w.variant = w.shape + "\x00\x00" + translate.Variant(tree, parameters(st))
	return w, true
}

// recall returns the verdict on a statement that holds at a time, or is being made; nil: there is none. The caller has the lock.
func (v *verdicts) recall(w weighed, now time.Time) *verdict {
	for _, key := range []string{w.variant, w.shape} {
		if found, ok := v.known.Get(key); ok && now.Sub(found.at) < verdictLife {
			return found
		}
	}
	return nil
}

// isIndexed reports whether it is known that PostgreSQL answers a statement from an index.
func (v *verdicts) isIndexed(w weighed, now time.Time) bool {
	v.mu.Lock()
	found := v.recall(w, now)
	v.mu.Unlock()
	if found == nil {
		return false
	}
	select {
	case <-found.made:
		return found.indexed
	default:
		return false
	}
}

// weigh returns a [*pgwire.RelayError] if PostgreSQL answers a planned statement sooner than the replica. One of the sessions that want to know
// asks the planner, on its own connection.
func (r *Router) weigh(ctx context.Context, s *pgwire.SessionInfo, st pgwire.Statement, p *planned, w weighed) error {
	if !slices.ContainsFunc(p.plan.Relations, func(rel translate.Relation) bool { return r.replica.Rows(rel.Table.ID) >= manyRows }) {
		return nil
	}
	v, now := r.verdicts, r.clock()
	v.mu.Lock()
	found := v.recall(w, now)
	asks := found == nil
	if asks {
		found = &verdict{at: now, made: make(chan struct{})}
		v.known.Add(w.variant, found)
	}
	v.mu.Unlock()
	if asks {
		explained, err := s.AskPlan(ctx, st)
		if err != nil {
			v.known.Remove(w.variant)
			close(found.made)
			return fmt.Errorf("ask for PostgreSQL's plan: %w", err)
		}
		found.indexed = isIndexed(explained, p.plan.Unequal, r.rowsOf(p))
		close(found.made)
		if !found.indexed {
			v.known.Add(w.shape, found)
		}
	}
	late := time.NewTimer(verdictWait)
	defer late.Stop()
	select {
	case <-found.made:
	case <-late.C: // the replica's answer need not wait
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if found.indexed {
		return &pgwire.RelayError{Reason: reasonIndexed}
	}
	return nil
}

// rowsOf is how many rows the replica has of all that a plan reads.
func (r *Router) rowsOf(p *planned) float64 {
	rows := 0.0
	for _, rel := range p.plan.Relations {
		rows += float64(r.replica.Rows(rel.Table.ID))
	}
	return rows
}

func parameters(st pgwire.Statement) []translate.Param {
	var params []translate.Param
	for _, p := range st.Params {
		params = append(params, translate.Param{Null: p.Null, Format: p.Format, Value: p.Value})
	}
	return params
}
