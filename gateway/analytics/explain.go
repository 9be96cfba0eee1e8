package analytics

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/translate"
)

// Explain implements [pgwire.Analytics].
func (r *Router) Explain(ctx context.Context, s *pgwire.SessionInfo, st pgwire.Statement) ([]string, error) {
	need := requirement(s)
	lines := []string{"Freshness: " + need.Mode.String() + boundText(need.Bound())}
	plan, err := r.plan(ctx, s, st)
	if err != nil {
		var refused *translate.Unsupported
		var relayed *pgwire.RelayError
		if !errors.As(err, &refused) && !errors.As(err, &relayed) {
			return nil, err
		}
		return append([]string{"Route: oltp", "Reason: " + err.Error()}, lines...), nil
	}
	tenant := r.cfg.Tenants.Of(s.SessionUser)
	lines = append([]string{"Route: columnar"}, append(lines, fmt.Sprintf("Tenant: %s (%d shares)", tenant.Name, tenant.Shares))...)
	snapshot, err := r.replica.Acquire(ctx)
	if err != nil {
		return append([]string{"Route: oltp", "Reason: " + err.Error()}, lines[1:]...), nil
	}
	defer snapshot.Release()
	lines = append(lines,
		"Snapshot: "+snapshot.Position().String(),
		"Staleness: "+r.clock().Sub(snapshot.Time()).Round(10*time.Microsecond).String(),
	)
	seen := map[cdc.TableID]bool{}
	for _, rel := range plan.Relations {
		if !seen[rel.Table.ID] {
			seen[rel.Table.ID] = true
			lines = append(lines, fmt.Sprintf("Table: %s.%s (about %d rows)", rel.Table.Schema, rel.Table.Name, r.replica.Rows(rel.Table.ID)))
		}
	}
	sql := plan.SQL(func(i int) string { return plan.Relations[i].Table.Schema + "." + plan.Relations[i].Table.Name })
	return append(lines, "Engine statement: "+strings.ReplaceAll(sql, "\n", " ")), nil
}

func boundText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return ", at most " + d.String() + " old"
}
