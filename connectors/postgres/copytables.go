package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/errgroup"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// tablesCopy copies tables on one snapshot, by several connections.
type tablesCopy struct {
	s        *Source
	sink     cdc.CopySink
	pieces   *pieces
	snapshot snapshot
}

// snapshot is one that other connections can use.
type snapshot struct {
	name    string // by which the server knows it
	visible string // what it sees, for that is the same on each of them
}

// copyAll copies tables by a connection that has a snapshot, and by others on the same one.
func (s *Source) copyAll(ctx context.Context, conn *pgconn.PgConn, defs []*definition, sink cdc.CopySink) error {
	row, err := ask(ctx, conn, "SELECT pg_export_snapshot(), pg_current_snapshot()", 2)
	if err != nil {
		return fmt.Errorf("share the snapshot of a copy: %w", err)
	}
	c := &tablesCopy{s: s, sink: sink, pieces: newPieces(defs), snapshot: snapshot{name: string(row[0]), visible: string(row[1])}}
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, c.pieces.close)()
	group.Go(func() error { return c.work(ctx, conn) })
	for range s.cfg.CopyConnections - 1 {
		group.Go(func() error { return c.help(ctx) })
	}
	return group.Wait()
}

// work copies until nothing is left.
func (c *tablesCopy) work(ctx context.Context, conn *pgconn.PgConn) error {
	for {
		p, ok := c.pieces.take()
		if !ok {
			return ctx.Err()
		}
		if err := c.copy(ctx, conn, p); err != nil {
			return err
		}
	}
}

// help does so by a connection of its own, if there is something to do and the server has one left.
func (c *tablesCopy) help(ctx context.Context) error {
	p, ok := c.pieces.take()
	if !ok {
		return ctx.Err()
	}
	conn, err := c.join(ctx)
	if err != nil {
		c.pieces.putBack(p)
		c.s.log.Warn("copying by fewer connections", "why", err)
		return ctx.Err()
	}
	defer c.s.closeQuietly(conn)
	if err := c.copy(ctx, conn, p); err != nil {
		return err
	}
	return c.work(ctx, conn)
}

// join makes another connection that has the snapshot.
func (c *tablesCopy) join(ctx context.Context) (*pgconn.PgConn, error) {
	cfg := c.s.pool.Config().ConnConfig.Config.Copy()
	cfg.RuntimeParams["application_name"] = c.s.applicationName()
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	visible, err := c.use(ctx, conn)
	if err == nil && visible != c.snapshot.visible {
		err = errors.New("another server answers") // after a failover
	}
	if err != nil {
		c.s.closeQuietly(conn)
		return nil, err
	}
	c.s.placeSender(conn)
	return conn, nil
}

// use begins a transaction on the snapshot, and returns what it sees.
func (c *tablesCopy) use(ctx context.Context, conn *pgconn.PgConn) (visible string, err error) {
	if err := unlimit(ctx, conn); err != nil {
		return "", err
	}
	if err := conn.Exec(ctx, bypassPolicies+"; "+limitLockWaits+"; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").Close(); err != nil {
		return "", err
	}
	if err := conn.Exec(ctx, "SET TRANSACTION SNAPSHOT "+literal(c.snapshot.name)).Close(); err != nil {
		return "", err
	}
	row, err := ask(ctx, conn, "SELECT pg_current_snapshot()", 1)
	if err != nil {
		return "", err
	}
	return string(row[0]), nil
}

// copy copies a piece of a table in a subtransaction, so that a table that fails leaves the others alone and
// keeps its lock only as long as needed.
func (c *tablesCopy) copy(ctx context.Context, conn *pgconn.PgConn, p piece) error {
	d, s := p.table.def, c.s
	name := ident(d.shape.schema, d.shape.name)
	err := conn.Exec(ctx, "SAVEPOINT t; LOCK TABLE "+name+" IN ACCESS SHARE MODE").Close()
	if err == nil {
		// Under the lock the table stands still: is it the one that was announced and that the snapshot saw?
		if err = s.unchanged(ctx, conn, d); err == nil {
			err = c.rows(ctx, conn, &p)
		}
	}
	var why *cdc.TableError
	switch {
	case err == nil:
	case errors.As(err, &why):
		s.registry.setGap(d.table.ID)
	case sqlState(err) == stateInsufficientPrivilege:
		why = &cdc.TableError{Code: cdc.CodePrivilege, Table: d.shape.schema + "." + d.shape.name, Detail: err.Error(),
			Remedy: "GRANT SELECT on it to the replication role"}
		s.registry.stop(d.table.ID, why)
	case tableIsAtFault(sqlState(err)):
		why = s.changedMeanwhile(d.table.ID)
		why.Detail += ": " + err.Error()
		s.registry.setGap(d.table.ID)
	case rowIsAtFault(sqlState(err)):
		why = &cdc.TableError{Code: cdc.CodeUnrepresentable, Table: d.shape.schema + "." + d.shape.name, Detail: "the server cannot read or send one of its rows: " + err.Error(),
			Remedy: "make the row smaller or repair it and restart the gateway, or exclude the table; its queries go to the source database"}
		s.registry.stop(d.table.ID, why)
	default:
		return fmt.Errorf("copy table %s: %w", name, err)
	}
	if err := conn.Exec(ctx, "ROLLBACK TO SAVEPOINT t; RELEASE SAVEPOINT t").Close(); err != nil {
		return fmt.Errorf("copy table %s: %w", name, err)
	}
	if why != nil && c.pieces.giveUp(p.table, why) {
		if err := c.sink.Stopped(ctx, d.table.ID, why); err != nil {
			return err
		}
	}
	if c.pieces.done(p) {
		return c.sink.Done(ctx, d.table)
	}
	return nil
}

// rows copies the rows of a piece. What is large it leaves to others in part.
func (c *tablesCopy) rows(ctx context.Context, conn *pgconn.PgConn, p *piece) error {
	if p.whole() && c.s.cfg.CopyConnections > 1 {
		pages, each, err := c.pages(ctx, conn, p.table.def.table.ID)
		if err != nil {
			return err
		}
		*p = c.pieces.cut(*p, pages, each)
	}
	d := p.table.def
	columns := make([]string, len(d.table.Columns))
	for i, c := range d.table.Columns {
		columns[i] = ident(c.Name)
	}
	var sinkErr error
	scan := &rowScanner{columns: len(columns), deliver: func(rows []cdc.Row) error {
		if c.pieces.givenUp(p.table) {
			return nil
		}
		c.s.metrics.copiedRows.Add(float64(len(rows)))
		sinkErr = c.sink.Rows(ctx, d.table, rows)
		return sinkErr
	}}
	// Partitioned tables can only be copied by a query.
	query := fmt.Sprintf("COPY (SELECT %s FROM %s%s) TO STDOUT (FORMAT binary)", strings.Join(columns, ", "), ident(d.shape.schema, d.shape.name), p.condition())
	if _, err := conn.CopyTo(ctx, scan, query); err != nil {
		if sinkErr != nil {
			return sinkErr
		}
		return err
	}
	return scan.finish()
}

// condition is the WHERE clause of a piece, each of whose pages the server finds by its number (a TID range scan).
func (p piece) condition() string {
	switch {
	case p.whole():
		return ""
	case p.next == 0:
		return fmt.Sprintf(" WHERE ctid >= '(%d,0)'", p.first)
	}
	return fmt.Sprintf(" WHERE ctid >= '(%d,0)' AND ctid < '(%d,0)'", p.first, p.next)
}

// pages returns how many pages a table has (a partitioned one: its largest partition, whose pages with the same numbers are copied together), and
// how many a piece should have.
func (c *tablesCopy) pages(ctx context.Context, conn *pgconn.PgConn, id cdc.TableID) (pages, each uint64, err error) {
	sql := fmt.Sprintf(`SELECT greatest(pg_relation_size(%[1]d), (SELECT max(pg_relation_size(relid)) FROM pg_partition_tree(%[1]d) WHERE isleaf)) / size, %[2]d / size
		FROM (SELECT current_setting('block_size')::bigint) AS block(size)`, id, pieceBytes)
	row, err := ask(ctx, conn, sql, 2)
	if err != nil {
		return 0, 0, err
	}
	pages, err = strconv.ParseUint(string(row[0]), 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("size of table with OID %d: %w", id, err)
	}
	if each, err = strconv.ParseUint(string(row[1]), 10, 64); err != nil {
		return 0, 0, fmt.Errorf("size of a page: %w", err)
	}
	return pages, each, nil
}
