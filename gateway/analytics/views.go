package analytics

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/translate"
)

// views are definitions of the source's views, which are asked for when a statement first reads one.
//
// Invariant: a definition that was read was in force at since, and is so for every snapshot between since and a later
// moment at which the source says that the view still has its version, which [definitions] asks.
type views struct {
	source viewSource
	known  *lru.Cache[string, *view]
	// changes counts the views that were read in the place of others, or with other columns.
	changes atomic.Uint64
}

// viewSource is what [Replica] tells of views.
type viewSource interface {
	View(ctx context.Context, searchPath []string, name string) (*cdc.View, error)
	Versions(ctx context.Context, ids []cdc.TableID) (map[cdc.TableID]string, error)
	Current(ctx context.Context) (cdc.Position, error)
}

// view is a definition, and a position at which it was in force.
type view struct {
	*translate.View
	since cdc.Position
	// outdated says that another definition may be in force by now.
	outdated atomic.Bool
}

func newViews(source viewSource, size int) (*views, error) {
	known, err := lru.New[string, *view](size)
	if err != nil {
		return nil, fmt.Errorf("make cache of views: %w", err)
	}
	return &views{source: source, known: known}, nil
}

// find returns the view that a name means; nil if it means none.
func (v *views) find(ctx context.Context, searchPath []string, name translate.AbsentTable) (*view, error) {
	if name.Schema != "" {
		searchPath = []string{name.Schema}
	}
	key := strings.Join(append(searchPath[:len(searchPath):len(searchPath)], name.Name), "\x00")
	known, ok := v.known.Get(key)
	if ok && !known.outdated.Load() {
		return known, nil
	}
	definition, err := v.source.View(ctx, searchPath, name.Name)
	if err != nil || definition == nil {
		return nil, err
	}
	found := &view{}
	// After the definition was seen: the position is not before the commit that made it.
	if found.since, err = v.source.Current(ctx); err != nil {
		return nil, fmt.Errorf("ask the source for its position: %w", err)
	}
	if found.View, err = translate.ParseView(definition); err != nil {
		return nil, err
	}
	if ok && (known.ID != found.ID || !slices.Equal(known.Columns, found.Columns)) {
		v.changes.Add(1)
	}
	v.known.Add(key, found)
	return found, nil
}

// review outdates the views that have other versions by now.
func (v *views) review(ctx context.Context, used []*view) error {
	if len(used) == 0 {
		return nil
	}
	ids := make([]cdc.TableID, len(used))
	for i, u := range used {
		ids[i] = u.ID
	}
	now, err := v.source.Versions(ctx, ids)
	if err != nil {
		return err
	}
	for _, u := range used {
		if now[u.ID] != u.Version {
			u.outdated.Store(true)
		}
	}
	return nil
}

// since is the first position for which all the views' definitions are known to have been in force; zero without views.
func since(views []*view) cdc.Position {
	var p cdc.Position
	for _, v := range views {
		if p.Before(v.since) {
			p = v.since
		}
	}
	return p
}

// outdate has the definitions read anew by the next statement that reads the views.
func outdate(views []*view) {
	for _, v := range views {
		v.outdated.Store(true)
	}
}

func outdated(views []*view) bool {
	return slices.ContainsFunc(views, func(v *view) bool { return v.outdated.Load() })
}
