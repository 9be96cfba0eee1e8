package driver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// check runs the consistency conditions on snapshot after snapshot.
func (d *Driver) check(ctx context.Context) error {
	conn, err := d.connectAnalytical(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if err := d.prepareChecks(ctx, conn); err != nil {
		return fmt.Errorf("set up consistency checks: %w", err)
	}
	for ctx.Err() == nil {
		next := time.Now().Add(d.cfg.CheckEvery)
		violations, err := d.checker.Snapshot(ctx, conn)
		if err != nil {
			return err
		}
		for _, v := range violations {
			d.cfg.Logger.Error("snapshot breaks a consistency condition", "violation", v.String())
		}
		wait(ctx, nil, time.Until(next))
	}
	return nil
}

// prepareChecks keeps checks on the replica, whatever its age: on PostgreSQL they would prove nothing. PostgreSQL
// itself takes these settings for somebody else's.
//
// The conditions hold once the database is loaded, and not while it is. A replica that was killed goes through the
// states of that time again, and shows them to whoever takes any age; so there is a least position.
func (d *Driver) prepareChecks(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "SET freshet.route = 'columnar'"); err != nil {
		return err
	}
	if d.floor == "" {
		floor, err := newestSnapshot(ctx, conn)
		if err != nil {
			return err
		}
		d.floor = floor
	}
	_, err := conn.Exec(ctx, "SELECT set_config('freshet.freshness', 'eventual', false), set_config('freshet.min_snapshot', $1, false)", d.floor)
	return err
}

// newestSnapshot returns the position of a snapshot that has all that was committed before, empty for a database that
// has no such thing.
func newestSnapshot(ctx context.Context, conn *pgx.Conn) (string, error) {
	for _, sql := range []string{"SET freshet.freshness = 'strong'", "SELECT count(*) FROM warehouse"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return "", err
		}
	}
	position, err := show(ctx, conn.PgConn(), "freshet.snapshot")
	const undefinedObject = "42704" // PostgreSQL does not know the setting
	if unknown, ok := errors.AsType[*pgconn.PgError](err); ok && unknown.Code == undefinedObject {
		return "", nil
	}
	return position, err
}
