package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Attendance is a connection that ends with the server.
type Attendance struct{ conn *pgx.Conn }

// attendInterval is how often an attendance says something: what is in between must not take the connection for one that was left.
const attendInterval = 10 * time.Second

// Attend connects to the server, so that the end of the server is noticed at once. A source that gets its changes from elsewhere (see
// [Companion]) would not notice that another server has taken this one's place, and go on with that.
func (c Companion) Attend(ctx context.Context) (*Attendance, error) {
	conn, err := pgx.ConnectConfig(ctx, c.s.pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("attend the server: %w", err)
	}
	if err := unlimit(ctx, conn.PgConn()); err != nil {
		_ = conn.Close(context.WithoutCancel(ctx))
		return nil, fmt.Errorf("attend the server: %w", err)
	}
	return &Attendance{conn}, nil
}

// Wait returns when the connection has ended, with the reason, or ctx.
func (a *Attendance) Wait(ctx context.Context) error {
	for {
		quiet, cancel := context.WithTimeout(ctx, attendInterval)
		err := a.conn.PgConn().WaitForNotification(quiet)
		cancel()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && !a.conn.IsClosed() {
			_, err = a.conn.PgConn().Exec(ctx, "SELECT").ReadAll()
		}
		if err != nil {
			return fmt.Errorf("the server has ended a connection: %w", err)
		}
	}
}

// Close ends the attendance. No Wait may be under way.
func (a *Attendance) Close(ctx context.Context) { _ = a.conn.Close(ctx) }
