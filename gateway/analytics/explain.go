package analytics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// Explain implements [pgwire.Analytics]. It waits for the session's freshness as the statement would.
func (r *Router) Explain(ctx context.Context, s *pgwire.SessionInfo, st pgwire.Statement) ([]string, error) {
	need := requirement(s)
	lines := []string{"Freshness: " + need.Mode.String() + boundText(need.Bound())}
	elsewhere := func(reason error) []string {
		return append([]string{"Route: " + s.Settings.Route.Otherwise(), "Reason: " + reason.Error()}, lines...)
	}
	p, err := r.plan(ctx, s, st)
	if err != nil {
		var refused *translate.Unsupported
		var relayed *pgwire.RelayError
		if !errors.As(err, &refused) && !errors.As(err, &relayed) {
			return nil, err
		}
		return elsewhere(r.explained(s, err)), nil
	}
	tenant := r.cfg.Tenants.Of(s.SessionUser)
	lines = append(lines, fmt.Sprintf("Tenant: %s (%d shares)", tenant.Name, tenant.Shares))
	snapshot, staleness, err := r.snapshotOf(ctx, s)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return elsewhere(err), nil
	}
	defer snapshot.Release()
	if _, err := (&query{router: r, session: s, tenant: tenant, planned: p}).build(snapshot); err != nil {
		return elsewhere(err), nil
	}
	lines = append(append([]string{"Route: columnar"}, lines...),
		"Snapshot: "+snapshot.Position().String(),
		"Staleness: "+staleness.Round(10*time.Microsecond).String(),
	)
	for _, v := range p.views {
		lines = append(lines, "View: "+v.FullName())
	}
	seen := map[cdc.TableID]bool{}
	for _, rel := range p.plan.Relations {
		if !seen[rel.Table.ID] {
			seen[rel.Table.ID] = true
			lines = append(lines, fmt.Sprintf("Table: %s.%s (about %d rows)", rel.Table.Schema, rel.Table.Name, r.replica.Rows(rel.Table.ID)))
		}
	}
	if p.plan.Sort != nil {
		lines = append(lines, "Sort: "+sortText(p.plan.Sort))
	}
	sql := p.plan.SQL(func(i int) string { return p.plan.Relations[i].Table.FullName() })
	return append(lines, "Engine statement: "+strings.ReplaceAll(sql, "\n", " ")), nil
}

// snapshotOf returns the snapshot that a statement of the session would run on now, retained, and its staleness.
func (r *Router) snapshotOf(ctx context.Context, s *pgwire.SessionInfo) (batch.Snapshot, time.Duration, error) {
	if tx, ok := s.Tx.(*pinned); ok {
		tx.snapshot.Retain()
		return tx.snapshot, r.clock().Sub(tx.snapshot.Time()), nil
	}
	return r.acquire(ctx, s)
}

func boundText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", at most " + d.String() + " old"
}
