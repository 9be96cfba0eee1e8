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
	"github.com/freshet-io/freshet/gateway/translate"
)

// Versions asks the source which versions its tables have now (see [cdc.Table]). The answer shows every change that was
// committed before a position that the replica has reached. A table that does not exist is left out.
type Versions func(ctx context.Context, ids []cdc.TableID) (map[cdc.TableID]string, error)

// definitions makes sure that the copies a query reads were not overtaken by a change of definition that no row tells of,
// such as a partition attached or a column's values rewritten.
//
// Invariant: a query's rows are handed to the client only after the source said, later than the query's snapshot was
// taken, that its tables still have the versions that were copied. What was said for a snapshot holds for all before it.
type definitions struct {
	versions Versions
	// confirmed has the highest position for which a definition was found to be in force.
	confirmed *lru.Cache[*cdc.Table, cdc.Position]
	asking    singleflight.Group
}

// errUnconfirmed says that the source gave no answer.
var errUnconfirmed = errors.New("table definitions could not be confirmed")

func newDefinitions(versions Versions, size int) (*definitions, error) {
	confirmed, err := lru.New[*cdc.Table, cdc.Position](size)
	if err != nil {
		return nil, fmt.Errorf("make cache of definitions: %w", err)
	}
	return &definitions{versions: versions, confirmed: confirmed}, nil
}

// confirm returns a [*pgwire.RelayError] unless the definitions that a plan relies on were in force at a snapshot's position.
func (d *definitions) confirm(ctx context.Context, relations []translate.Relation, at cdc.Position) error {
	var tables []*cdc.Table
	var ids []cdc.TableID
	for _, rel := range relations {
		t := rel.Table
		known, ok := d.confirmed.Get(t)
		if t.Version == "" || ok && !known.Before(at) || slices.Contains(ids, t.ID) {
			continue
		}
		tables, ids = append(tables, t), append(ids, t.ID)
	}
	if len(tables) == 0 {
		return nil
	}
	now, err := d.ask(ctx, ids, at)
	if err != nil {
		return fmt.Errorf("%w: %w", errUnconfirmed, err)
	}
	for _, t := range tables {
		if now[t.ID] != t.Version {
			return &pgwire.RelayError{Reason: fmt.Sprintf("table %s.%s has a definition that the replica does not have yet", t.Schema, t.Name)}
		}
	}
	for _, t := range tables {
		if known, ok := d.confirmed.Get(t); !ok || known.Before(at) {
			d.confirmed.Add(t, at)
		}
	}
	return nil
}

// ask asks for the present versions. Queries on one snapshot share the question: it is later than the snapshot for all of them.
func (d *definitions) ask(ctx context.Context, ids []cdc.TableID, at cdc.Position) (map[cdc.TableID]string, error) {
	slices.Sort(ids)
	key := fmt.Sprint(at, ids)
	for {
		answer := d.asking.DoChan(key, func() (any, error) { return d.versions(ctx, ids) })
		select {
		case r := <-answer:
			if r.Err == nil {
				return r.Val.(map[cdc.TableID]string), nil
			}
			if ctx.Err() != nil || !r.Shared || !errors.Is(r.Err, context.Canceled) {
				return nil, r.Err
			}
			// Whoever asked has gone: ask again.
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
