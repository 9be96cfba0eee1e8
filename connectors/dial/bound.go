package dial

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Bound ends each statement on a connection by cfg that takes longer than limit. A server does that by itself (statement_timeout) unless it hangs.
func Bound(cfg *pgx.ConnConfig, limit time.Duration) { cfg.Tracer = bound(limit) }

// bound is a [pgx.QueryTracer], whose context is that of the statement.
type bound time.Duration

// cancelKey is where a statement's context has the function that ends it.
type cancelKey struct{}

// TraceQueryStart implements [pgx.QueryTracer].
func (b bound) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(b))
	return context.WithValue(ctx, cancelKey{}, cancel)
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (bound) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if cancel, ok := ctx.Value(cancelKey{}).(context.CancelFunc); ok {
		cancel()
	}
}
