package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/workload/ch"
)

// syntaxOrAccess is the class of SQLSTATEs that no waiting changes: no such table, no such privilege.
const syntaxOrAccess = "42"

// AwaitReplica waits until every table of the benchmark can be read on the columnar route as it is now, for at most limit.
// The error names the table that cannot, and why. A table's copy is ready earlier, as of a position in the middle of the load,
// at which the benchmark's conditions do not hold in PostgreSQL either.
func AwaitReplica(ctx context.Context, endpoint string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := pgx.Connect(ctx, endpoint)
	if err != nil {
		return fmt.Errorf("wait for the replica: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.PgConn().Exec(ctx, "SET freshet.freshness = 'strong'; SET freshet.route = 'columnar'").ReadAll(); err != nil {
		return fmt.Errorf("wait for the replica: %w", err)
	}
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for _, table := range ch.Tables {
		var refused *pgconn.PgError
		for {
			_, err := conn.PgConn().Exec(ctx, "SELECT count(*) FROM "+table).ReadAll()
			if err == nil {
				break
			}
			answer, ok := errors.AsType[*pgconn.PgError](err)
			if ok {
				refused = answer
			}
			if (!ok && ctx.Err() == nil) || refused == nil || strings.HasPrefix(refused.Code, syntaxOrAccess) {
				return fmt.Errorf("wait for the replica: %w", err)
			}
			select {
			case <-again.C:
			case <-ctx.Done():
				return fmt.Errorf("the replica does not hold table %q after %v: %w", table, limit, refused)
			}
		}
	}
	return nil
}
