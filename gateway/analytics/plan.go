package analytics

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/syntax"
	"github.com/freshet-io/freshet/gateway/translate"
)

// recorder notes which tables were looked up by the search path: PostgreSQL must agree that the
// bare name means them, since a view or table that is not replicated may hide them.
type recorder struct {
	translate.Catalog
	unqualified map[cdc.TableID]bool
}

// Table implements [translate.Catalog].
func (c recorder) Table(searchPath []string, schema, name string) (*cdc.Table, bool) {
	t, ok := c.Catalog.Table(searchPath, schema, name)
	if ok && schema == "" {
		c.unqualified[t.ID] = true
	}
	return t, ok
}

// Plan implements [pgwire.Analytics].
func (r *Router) Plan(ctx context.Context, s *pgwire.SessionInfo, st pgwire.Statement) (pgwire.Query, error) {
	p, err := r.plan(ctx, s, st)
	if err != nil {
		if s.Settings.Route == pgwire.RouteColumnar || s.Tx != nil { // the client may be told
			err = r.explained(s, err)
		}
		return nil, r.relay(err)
	}
	return &query{router: r, session: s, tenant: r.cfg.Tenants.Of(s.SessionUser), planned: p, fields: st.Fields}, nil
}

func (r *Router) plan(ctx context.Context, s *pgwire.SessionInfo, st pgwire.Statement) (*planned, error) {
	if err := r.sessionFit(s); err != nil {
		return nil, err
	}
	w, weighs := r.weighed(s, st)
	if weighs && r.verdicts.isIndexed(w, r.clock()) {
		return nil, &pgwire.RelayError{Reason: reasonIndexed}
	}
	p := r.translated(ctx, s, st)
	err := r.permit(ctx, s, p)
	if err != nil && p.outdated() { // now with what the views and enumerations have become
		p = r.translated(ctx, s, st)
		err = r.permit(ctx, s, p)
	}
	if err == nil && weighs {
		err = r.weigh(ctx, s, st, p, w)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// permit says whether a session's statement may run as planned.
func (r *Router) permit(ctx context.Context, s *pgwire.SessionInfo, p *planned) error {
	insists, now := s.Settings.Route == pgwire.RouteColumnar, r.clock()
	free := !insists && s.Tx == nil // to go where it is answered sooner
	switch {
	case p.err != nil:
		return p.err
	case p.plan.PointRead && free:
		return &pgwire.RelayError{Reason: reasonPointRead}
	case p.tooMany.recent(now) && !insists:
		return &pgwire.RelayError{Reason: reasonTooMany}
	case p.guarded.recent(now) && free:
		return &pgwire.RelayError{Reason: reasonGuarded}
	case p.refused.recent(now) && free:
		return &pgwire.RelayError{Reason: reasonRefused + " a moment ago"}
	}
	if err := r.noticeHidden(ctx, s); err != nil {
		return err
	}
	if err := r.sameLog(ctx, s); err != nil {
		return err
	}
	return r.verify(ctx, s, p)
}

// explained adds to a refusal for want of a table why the replica has not got it.
func (r *Router) explained(s *pgwire.SessionInfo, err error) error {
	refused, ok := translate.AsUnsupported(err)
	if !ok || refused.Absent == nil {
		return err
	}
	return &translate.Unsupported{Reason: r.replica.Absence(s.SearchPath, refused.Absent.Schema, refused.Absent.Name)}
}

// Isolation levels as PostgreSQL prints them.
const (
	readCommitted = "read committed"
	serializable  = "serializable"
)

// sessionFit refuses sessions whose settings change what values or names mean.
func (r *Router) sessionFit(s *pgwire.SessionInfo) error {
	switch {
	case r.cfg.Database != "" && s.Database != r.cfg.Database:
		return &pgwire.RelayError{Reason: fmt.Sprintf("database %q is not replicated", s.Database)}
	// PostgreSQL has to see the reads of a SERIALIZABLE transaction to find its conflicts with others. With CockroachDB, where every
	// transaction is SERIALIZABLE unless it says otherwise, transactions are ordered by their timestamps: a snapshot is what one with its
	// timestamp would read.
	case s.Isolation == serializable && r.cfg.Dialect == translate.PostgreSQL:
		return &pgwire.RelayError{Reason: "the transaction is SERIALIZABLE"}
	case s.TransformNullEquals:
		return &pgwire.RelayError{Reason: "transform_null_equals is on"}
	case s.ArraysWithoutNulls:
		return &pgwire.RelayError{Reason: "array_nulls is off"}
	case !strings.HasPrefix(s.DateStyle, "ISO"):
		return &pgwire.RelayError{Reason: "DateStyle is not ISO"}
	case s.IntervalStyle == "sql_standard": // a leading sign is that of all that follows it in a constant
		return &pgwire.RelayError{Reason: "IntervalStyle is sql_standard"}
	}
	return nil
}

// translated returns the outcome from the cache or makes it.
func (r *Router) translated(ctx context.Context, s *pgwire.SessionInfo, st pgwire.Statement) *planned {
	key := planKey(r.replica.Generation(), s, st)
	if p, ok := r.plans.Get(key); ok && p.holds(r.clock()) {
		return p
	}
	tree, err := r.tree(st.SQL)
	if err != nil {
		return &planned{err: &translate.Unsupported{Reason: "the statement does not parse"}}
	}
	p := r.translate(ctx, s, tree, st)
	if _, refused := translate.AsUnsupported(p.err); refused { // as verify has it: it may be due to what a view was
		if err := r.review(ctx, s, p.views); err != nil {
			p.err = err
		}
	}
	if _, refused := translate.AsUnsupported(p.err); len(key) <= pgwire.MaxRememberedText && (refused || p.err == nil && !p.once) {
		r.plans.Add(key, p)
	}
	return p
}

func (r *Router) tree(sql string) (*syntax.Tree, error) {
	if t, ok := r.trees.Get(sql); ok {
		return t, nil
	}
	t, err := syntax.Parse(sql)
	if err != nil {
		return nil, err
	}
	if len(sql) <= pgwire.MaxRememberedText {
		r.trees.Add(sql, t)
	}
	return t, nil
}

func (r *Router) environment(names translate.Catalog, s *pgwire.SessionInfo, st pgwire.Statement) translate.Env {
	env := translate.Env{
		Database: s.Database, Catalog: names, SearchPath: s.SearchPath, TimeZone: s.TimeZone,
		Traits: r.replica.Traits(), Dialect: r.cfg.Dialect, ParamOIDs: st.ParamOIDs, Rows: r.replica.Rows,
	}
	for _, f := range st.Fields {
		env.Fields = append(env.Fields, translate.Field{
			Name: string(f.Name), TypeOID: f.DataTypeOID, Modifier: f.TypeModifier,
			TableOID: f.TableOID, Attr: int16(f.TableAttributeNumber),
		})
	}
	env.Params = parameters(st)
	return env
}

// planKey names everything that a translation depends on, each part with its length before it.
func planKey(generation uint64, s *pgwire.SessionInfo, st pgwire.Statement) string {
	b := binary.AppendUvarint(nil, generation)
	add := func(part string) {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	add(st.SQL)
	add(s.Database)
	add(strings.Join(s.SearchPath, "\x00"))
	add(s.TimeZone)
	for i, p := range st.Params {
		b = binary.AppendUvarint(b, uint64(st.ParamOIDs[i]))
		if p.Null {
			b = append(b, 'n')
			continue
		}
		b = append(b, byte('0'+p.Format))
		add(string(p.Value))
	}
	for _, f := range st.Fields {
		add(string(f.Name))
		b = binary.AppendUvarint(b, uint64(f.DataTypeOID))
		b = binary.AppendVarint(b, int64(f.TypeModifier))
		b = binary.AppendUvarint(b, uint64(f.TableOID))
		b = binary.AppendUvarint(b, uint64(f.TableAttributeNumber))
	}
	return string(b)
}

// relay turns refusals into the session's kind of error and counts them.
func (r *Router) relay(err error) error {
	var refused *translate.Unsupported
	var relayed *pgwire.RelayError
	switch {
	case errors.As(err, &refused):
		cause := "untranslated"
		if refused.Defect != "" {
			cause = "defect"
		}
		r.metrics.relayed.WithLabelValues(cause).Inc()
		return &pgwire.RelayError{Reason: refused.Reason}
	case errors.As(err, &relayed):
		r.metrics.relayed.WithLabelValues("refused").Inc()
	}
	return err
}
