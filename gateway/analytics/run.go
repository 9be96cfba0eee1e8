package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go"
	"github.com/ClickHouse/ch-go/proto"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/batch"
	"github.com/freshet-io/freshet/gateway/datarow"
	"github.com/freshet-io/freshet/gateway/engine"
	"github.com/freshet-io/freshet/gateway/finish"
	"github.com/freshet-io/freshet/gateway/freshness"
	"github.com/freshet-io/freshet/gateway/pgwire"
	"github.com/freshet-io/freshet/gateway/shares"
	"github.com/freshet-io/freshet/gateway/timezone"
)

// holdBack is how much of a result is kept until the engine has ended, so that a guard that
// fires late can still send the whole statement to PostgreSQL. In bytes.
const holdBack = 4 << 20

// query is one execution that was planned for the replica; it implements [pgwire.Query].
type query struct {
	router  *Router
	session *pgwire.SessionInfo
	tenant  *shares.Tenant
	*planned
	fields []pgproto3.FieldDescription
}

// Run implements [pgwire.Query].
func (q *query) Run(ctx context.Context, formats []int16, sink func(datarow.Rows) error) (int64, error) {
	reader, err := q.start(ctx, formats)
	if err != nil {
		return 0, q.refusal(ctx, err)
	}
	defer reader.Close()
	// While the engine works: the definitions are confirmed after the snapshot was taken, and before the first row is
	// sent.
	if err := q.confirm(ctx, reader.Position()); err != nil {
		return 0, q.router.refusal(ctx, err)
	}
	n, err := q.deliver(ctx, reader, sink)
	if err != nil && !errors.Is(err, pgwire.ErrRowLimit) {
		return n, q.refusal(ctx, err)
	}
	q.session.Record(pgwire.LastRun{
		Route: pgwire.RouteColumnar.String(), Reason: "translated", Snapshot: reader.Position().String(), Staleness: reader.Staleness(),
	})
	q.router.metrics.answered.Inc()
	return n, err
}

// refusal is the router's, unless the statement met a limit of its tenant.
func (q *query) refusal(ctx context.Context, err error) error {
	if finish.IsGuard(err) {
		q.guarded.note(q.router.clock())
	}
	if e := overLimit(q.tenant, err); e != nil && ctx.Err() == nil {
		q.router.metrics.limited.Inc()
		return e
	}
	if exception, ok := errors.AsType[*ch.Exception](err); ok && ctx.Err() == nil {
		q.router.replica.Suspect(exception)
		if !isPassing(exception.Code) && q.session.Settings.Route != pgwire.RouteColumnar {
			q.refused.note(q.router.clock())
		}
	}
	return q.router.refusal(ctx, err)
}

// isPassing reports whether an exception of the engine has nothing to do with the statement, which may run the next time.
func isPassing(code proto.Error) bool {
	switch code {
	case proto.ErrUnknownTable, proto.ErrUnknownDatabase, // after a restart
		proto.ErrTooManySimultaneousQueries, proto.ErrQueryWasCancelled:
		return true
	}
	return false
}

// start waits for the freshness that the session asks for and hands the query to the dispatcher.
func (q *query) start(ctx context.Context, formats []int16) (*batch.Reader, error) {
	if tx, ok := q.session.Tx.(*pinned); ok {
		return q.router.dispatcher.RunOn(ctx, tx.snapshot, q.job(formats))
	}
	need := requirement(q.session)
	if first := since(q.views); need.Min.Before(first) {
		need.Min = first
	}
	var reader *batch.Reader
	err := q.router.freshly(ctx, q.session, need, func(bound time.Duration) (err error) {
		job := q.job(formats)
		job.MaxStaleness = bound
		reader, err = q.router.dispatcher.Submit(ctx, job)
		return err
	})
	return reader, err
}

// confirm is [definitions.confirm]. The source's answer may take as long as a commit waits for a synchronous standby,
// which PostgreSQL's need not.
func (q *query) confirm(ctx context.Context, at cdc.Position) error {
	limited, cancel := q.router.withinLag(ctx, q.session)
	defer cancel()
	return q.router.definitions.confirm(limited, q.planned, at)
}

// job is the query as the dispatcher takes it.
func (q *query) job(formats []int16) *batch.Query {
	style := styleOf(q.session, q.zone)
	if q.plan.Sort != nil { // whose columns come after the client's, as text
		formats = append(slices.Clip(formats), make([]int16, len(q.plan.Sort.Keys))...)
	}
	columns, set := q.plan.Columns(), settings(q.plan.Settings, q.tenant)
	return &batch.Query{
		Key:      q.key(columns, formats, style, set),
		Build:    q.build,
		Settings: set,
		User:     q.session.SessionUser,
		Encoder:  func() (batch.Encoder, error) { return finish.NewDecoder(columns, formats, style) },
	}
}

// key names the result: the statement for the engine without its snapshot, the settings that it runs under, a tenant's
// limits among them, and all that decides what becomes of its rows. Statements that differ in what is finished here, as
// stddev and variance do, are one to the engine.
func (q *query) key(columns []finish.Column, formats []int16, style finish.Style, set map[string]string) string {
	var b strings.Builder
	fmt.Fprint(&b, formats, style, set)
	for _, c := range columns {
		b.WriteString(c.Form())
	}
	b.WriteByte(0)
	b.WriteString(q.plan.SQL(func(i int) string {
		return fmt.Sprintf("\x00%d\x00", q.plan.Relations[i].Table.ID)
	}))
	return b.String()
}

// build is the statement for one snapshot.
func (q *query) build(s batch.Snapshot) (string, error) {
	var missing error
	sql := q.plan.SQL(func(i int) string {
		rel := q.plan.Relations[i]
		if t, ok := s.Table(rel.Table.ID); ok && t != rel.Table {
			missing = &pgwire.RelayError{Reason: fmt.Sprintf("table %s.%s was defined anew just now", rel.Table.Schema, rel.Table.Name)}
		}
		names := make([]string, len(rel.Columns))
		for j, c := range rel.Columns {
			names[j] = rel.Table.Columns[c].Name
		}
		text, ok := s.Relation(rel.Table.ID, names)
		if !ok {
			missing = &pgwire.RelayError{Reason: fmt.Sprintf("table %s.%s is not on the replica", rel.Table.Schema, rel.Table.Name)}
		}
		return text
	})
	return sql, missing
}

// errCut ends a result that the client has part of, so that PostgreSQL cannot run the statement any more.
var errCut = errors.New("the result ended after rows had been sent")

// result yields the rows of a query; io.EOF itself, not wrapped in another error, comes after the last.
type result interface {
	Next() (datarow.Rows, error)
}

// deliver hands the rows to the client, sorted if the engine could not sort them.
func (q *query) deliver(ctx context.Context, reader result, sink func(datarow.Rows) error) (int64, error) {
	if q.plan.Sort == nil {
		return deliver(reader, sink)
	}
	rows, err := q.sorted(ctx, reader)
	if err != nil {
		return 0, err
	}
	return int64(rows.Len()), sink(rows)
}

// deliver hands the rows to the client. The first holdBack bytes wait for the end of the execution.
func deliver(reader result, sink func(datarow.Rows) error) (int64, error) {
	var held []datarow.Rows
	var sent int64
	size := 0
	for {
		rows, err := reader.Next()
		ended := err == io.EOF //nolint:errorlint // one that is wrapped is a connection's end, not the result's
		switch {
		case ended:
		case errors.Is(err, batch.ErrStalled):
			return sent, &pgwire.Error{
				Code: "53000", Message: "statement was ended: its result was not read on while too many others were not either",
				Hint: "Read results as they come, or ask for fewer rows.", Err: err,
			}
		case err != nil && sent > 0:
			return sent, &pgwire.Error{
				Code: "40001", Message: "the columnar engine could not finish a result that was already being sent",
				Hint: "Repeat the statement, or SET freshet.route = 'oltp'.", Err: fmt.Errorf("%w: %w", errCut, err),
			}
		case err != nil:
			return 0, err
		default:
			held = append(held, rows)
			size += len(rows.Messages())
		}
		if size <= holdBack && !ended {
			continue
		}
		for i, rows := range held {
			held[i] = datarow.Rows{} // a client may take long over each
			if err := sink(rows); err != nil {
				return sent, err
			}
			sent += int64(rows.Len())
		}
		if ended {
			return sent, nil
		}
		held = nil
	}
}

// refusal turns what stopped a query into what the session must do.
func (r *Router) refusal(ctx context.Context, err error) error {
	var stale *batch.StaleError
	var exception *ch.Exception
	cut := errors.Is(err, errCut)
	relay := func(kind, reason string, said error) error {
		if cut {
			return err
		}
		r.metrics.relayed.WithLabelValues(kind).Inc()
		return &pgwire.RelayError{Reason: reason, Code: "55000", Err: besides(err, said)}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, errLag):
		return relay("stale", errLag.Error(), errLag)
	case errors.As(err, &stale):
		return relay("stale", "the newest snapshot is older than freshet.max_staleness", nil)
	case finish.IsGuard(err) && cut:
		return err
	case finish.IsGuard(err):
		r.metrics.relayed.WithLabelValues("guard").Inc()
		return &pgwire.RelayError{Reason: reasonGuarded + ": " + finish.Guard(err)}
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, batch.ErrClosed):
		return relay("unavailable", "the columnar engine is unavailable", engine.ErrUnavailable)
	case errors.Is(err, ErrUnavailable):
		return relay("unavailable", reasonNotReady, ErrUnavailable)
	case errors.Is(err, freshness.ErrSource):
		return relay("unavailable", "the source did not tell its position", freshness.ErrSource)
	case errors.Is(err, errUnconfirmed):
		return relay("definition", "the source could not confirm the table definitions", errUnconfirmed)
	case errors.Is(err, finish.ErrTooMany):
		return r.relay(&pgwire.RelayError{Reason: reasonTooMany})
	case errors.Is(err, errUnranked):
		return relay("unavailable", errUnranked.Error(), errUnranked)
	case errors.Is(err, finish.ErrStyle):
		return relay("untranslated", "the session's output settings are not handled", finish.ErrStyle)
	case errors.As(err, &exception):
		r.log.Warn("the engine refused a translated statement", "code", int(exception.Code), "error", exception.Message)
		return relay("engine", reasonRefused+" (code "+strconv.Itoa(int(exception.Code))+")", nil)
	}
	return err
}

const reasonRefused = "the columnar engine refused the statement"

const reasonGuarded = "a value needs PostgreSQL's own arithmetic"

// reasonNotReady says the same as [ErrUnavailable].
const reasonNotReady = "the replica is not ready"

// ErrUnavailable is to be wrapped by a [Replica] that has no snapshot to give.
var ErrUnavailable = errors.New("replica is not ready")

func styleOf(s *pgwire.SessionInfo, z *timezone.Zone) finish.Style {
	return finish.Style{
		DateStyle: s.DateStyle, IntervalStyle: s.IntervalStyle, TimeZone: s.TimeZone, Zone: z, ByteaOutput: s.ByteaOutput,
		ExtraFloatDigits: strconv.Itoa(s.ExtraFloatDigits),
	}
}
