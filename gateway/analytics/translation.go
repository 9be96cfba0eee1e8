package analytics

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/timezone"
	"github.com/freshet-io/freshet/gateway/translate"
)

// planned is the outcome of a translation, good or bad; both are worth keeping.
type planned struct {
	plan *translate.Plan
	// unqualified are the tables and views that the statement names without a schema.
	unqualified map[cdc.TableID]bool
	views       []*view
	enums       []enumUse
	// overtaken says that one of the enumerations was found to be another by now.
	overtaken atomic.Bool
	// names are those of the statement and of the views.
	names syntax.Names
	// zone has the rules of the session's time zone, if they are needed.
	zone *timezone.Zone
	err  error
	at   time.Time
	// tooMany is when the statement last had too many rows to be sorted here, guarded when the engine last came upon a value that only
	// PostgreSQL computes, and refused when the engine last refused it, as for want of memory.
	tooMany, guarded, refused moment
	// once says that the translation has the transaction's time in it, and is of no use to the next statement.
	once bool
}

// refusalLife is how long a refusal is kept that is due to a view's definition, an enumeration's labels, or a name that means nothing on the replica: nothing tells
// the gateway when that changes.
const refusalLife = 10 * time.Second

// outdated says that what the translation relies on may be another by now.
func (p *planned) outdated() bool { return p.overtaken.Load() || outdated(p.views) }

// holds says whether the outcome may be used again at a time.
func (p *planned) holds(now time.Time) bool {
	if p.outdated() {
		return false
	}
	refused, ok := translate.AsUnsupported(p.err)
	return !ok || refused.Absent == nil && len(p.views) == 0 && len(p.enums) == 0 || now.Sub(p.at) < refusalLife
}

// The most time zones, views and enumerations that PostgreSQL is asked about for one statement.
const (
	mostZones = 8
	mostViews = 32
	mostEnums = 16
)

// translate translates a statement, and asks for what turns out to be needed: the definitions of views, the time of the transaction,
// the rules of time zones, and the labels of enumerations.
func (r *Router) translate(ctx context.Context, s *pgwire.SessionInfo, tree *syntax.Tree, st pgwire.Statement) *planned {
	p := &planned{unqualified: map[cdc.TableID]bool{}, names: tree.Names(), at: r.clock()}
	env := r.environment(recorder{r.replica, p.unqualified}, s, st)
	env.Enums = map[translate.EnumRef]*translate.Enum{}
	env.Zones, env.Views = map[string]*timezone.Zone{}, map[translate.AbsentTable]*translate.View{}
	asksTime, again := tree.AsksTime(), false
	for {
		if asksTime && env.Clock == nil && env.Dialect == translate.PostgreSQL {
			if env.Clock, p.err = askTime(ctx, s); p.err != nil {
				return p
			}
			p.once = true
		}
		p.plan, p.err = translate.Translate(tree, env)
		p.zone = env.Zones[env.TimeZone]
		refused, ok := translate.AsUnsupported(p.err)
		if ok && refused.Defect != "" {
			r.log.Error("a statement met a defect of the translation; PostgreSQL answers it", "panic", refused.Defect)
		}
		switch {
		case !ok || env.Dialect != translate.PostgreSQL:
			return p
		case refused.Outdated && !again:
			again = true
			outdate(p.views)
			p.views, p.names = nil, tree.Names()
			clear(env.Views)
		case refused.Absent != nil && len(p.views) < mostViews:
			found, err := r.views.find(ctx, s.SearchPath, *refused.Absent)
			if err != nil {
				p.err = unanswered(ctx, "the definition of a view could not be read", err)
				return p
			}
			if found == nil {
				return p
			}
			if refused.Absent.Schema == "" {
				p.unqualified[found.ID] = true
			}
			env.Views[*refused.Absent] = found.View
			p.views = append(p.views, found)
			p.names = p.names.With(found.Names())
			asksTime = asksTime || found.AsksTime()
		case refused.Zone != "" && r.cfg.Zones != nil && len(env.Zones) < mostZones:
			zone, err := r.cfg.Zones(ctx, refused.Zone)
			if err != nil {
				p.err = unanswered(ctx, "the rules of a time zone could not be read", err)
				return p
			}
			env.Zones[refused.Zone] = zone
		case refused.Enum != nil && len(env.Enums) < mostEnums:
			enum, err := askEnum(ctx, s, *refused.Enum)
			if err != nil {
				p.err = fmt.Errorf("ask for the labels of a type: %w", err)
				return p
			}
			env.Enums[*refused.Enum] = enum
			if enum != nil {
				p.enums = append(p.enums, enumUse{*refused.Enum, enum})
			}
		default:
			return p
		}
	}
}

// review looks whether the definitions of views that a refused statement relied on have changed meanwhile. If so, the views are read anew when
// the statement is planned again.
func (r *Router) review(ctx context.Context, s *pgwire.SessionInfo, used []*view) error {
	limited, cancel := r.withinLag(ctx, s)
	defer cancel()
	if err := r.views.review(limited, used); err != nil {
		return unanswered(ctx, "the definition of a view could not be read", err)
	}
	return nil
}

// unanswered leaves a statement to PostgreSQL if what its translation needs could not be had.
func unanswered(ctx context.Context, reason string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := translate.AsUnsupported(err); ok {
		return err
	}
	if errors.Is(err, ErrUnavailable) {
		reason = reasonNotReady
	}
	return &pgwire.RelayError{Reason: reason, Code: "55000", Err: besides(err, ErrUnavailable)}
}

// vainLife is for how long PostgreSQL gets a statement at once after the replica could not finish it: another attempt would be in vain.
const vainLife = time.Minute

// moment is when something happened last; its zero value: never.
type moment struct{ at atomic.Int64 }

func (m *moment) note(now time.Time) { m.at.Store(now.UnixNano()) }

func (m *moment) recent(now time.Time) bool {
	at := m.at.Load()
	return at != 0 && now.Sub(time.Unix(0, at)) < vainLife
}
