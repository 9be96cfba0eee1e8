package analytics

import (
	"context"
	"errors"
	"fmt"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/pgwire"
)

// Versions asks the source which versions its tables and views have now (see [cdc.Table], [cdc.View]). The answer shows every change
// that was committed before a position that the replica has reached. What does not exist is left out.
type Versions func(ctx context.Context, ids []cdc.TableID) (map[cdc.TableID]string, error)

// definitions makes sure that what a query reads was not overtaken by a change of definition that no row tells of, such as a partition
// attached, a column's values rewritten or a view replaced.
//
// Invariant: a query's rows are handed to the client only after the source said, later than the query's snapshot was
// taken, that its tables still have the versions that were copied, and its views those that were read. What was said for a snapshot
// holds for all before it, back to the copy or to where the view was read.
type definitions struct {
	versions Versions
	// confirmed has the highest position for which a definition was found to be in force.
	confirmed *lru.Cache[defined, cdc.Position]
	asking    singleflight.Group
}

// defined is a table or a view as it is defined by one version.
type defined struct {
	id      cdc.TableID
	version string
}

// errUnconfirmed says that the source gave no answer.
var errUnconfirmed = errors.New("table definitions could not be confirmed")

func newDefinitions(versions Versions, size int) (*definitions, error) {
	confirmed, err := lru.New[defined, cdc.Position](size)
	if err != nil {
		return nil, fmt.Errorf("make cache of definitions: %w", err)
	}
	return &definitions{versions: versions, confirmed: confirmed}, nil
}

// confirm returns a [*pgwire.RelayError] unless the definitions that a plan relies on were in force at a snapshot's position.
func (d *definitions) confirm(ctx context.Context, p *planned, at cdc.Position) error {
	if at.Before(since(p.views)) {
		return &pgwire.RelayError{Reason: "a view's definition is known for later snapshots only"}
	}
	unconfirmed := map[defined]string{}
	add := func(id cdc.TableID, version, what string) {
		one := defined{id, version}
		if known, ok := d.confirmed.Get(one); version != "" && (!ok || known.Before(at)) {
			unconfirmed[one] = what
		}
	}
	for _, rel := range p.plan.Relations {
		add(rel.Table.ID, rel.Table.Version, "table "+rel.Table.FullName())
	}
	for _, v := range p.views {
		add(v.ID, v.Version, "view "+v.FullName())
	}
	if len(unconfirmed) == 0 {
		return nil
	}
	var ids []cdc.TableID
	for u := range unconfirmed {
		if !slices.Contains(ids, u.id) {
			ids = append(ids, u.id)
		}
	}
	now, err := d.ask(ctx, ids, at)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	for u, what := range unconfirmed {
		if now[u.id] != u.version {
			outdate(p.views)
			return &pgwire.RelayError{Reason: what + " has a definition that the replica does not have yet"}
		}
	}
	for u := range unconfirmed {
		if known, ok := d.confirmed.Get(u); !ok || known.Before(at) {
			d.confirmed.Add(u, at)
		}
	}
	return nil
}

// errAskerLeft marks a question whose asker's context ended before the answer came: the others ask again.
var errAskerLeft = errors.New("the session that asked for the definitions gave up")

// ask asks for the present versions. Queries on one snapshot share the question: it is later than the snapshot for all of them.
func (d *definitions) ask(ctx context.Context, ids []cdc.TableID, at cdc.Position) (map[cdc.TableID]string, error) {
	slices.Sort(ids)
	key := fmt.Sprint(at, ids)
	for {
		answer := d.asking.DoChan(key, func() (any, error) {
			versions, err := d.versions(ctx, ids)
			if err != nil && ctx.Err() != nil {
				err = errAskerLeft // and not why: that is told to its own client alone
			}
			return versions, err
		})
		select {
		case r := <-answer:
			if r.Err == nil {
				return r.Val.(map[cdc.TableID]string), nil
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if !errors.Is(r.Err, errAskerLeft) {
				return nil, r.Err
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
