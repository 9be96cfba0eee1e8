package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// Copy implements [cdc.Source]. It waits until the transactions that run when it begins have
// ended: only then can the server name an exact position. Definitions passed to Begin are those that
// Tables or Discovered told; a table altered since is Stopped here and announced by the stream.
func (s *Source) Copy(ctx context.Context, tables []cdc.TableID, sink cdc.CopySink) (cdc.Position, error) {
	// Before the snapshot: a table that the publication misses from here on is announced once more.
	var defs []*definition
	var begun []*cdc.Table
	var stale []cdc.TableID
	for _, id := range tables {
		if d := s.registry.copying(id); d != nil {
			defs, begun = append(defs, d), append(begun, d.table)
		} else {
			stale = append(stale, id)
		}
	}
	conn, err := s.connectReplication(ctx, nil)
	if err != nil {
		return cdc.Position{}, fmt.Errorf("copy tables: %w", err)
	}
	defer s.closeQuietly(conn)
	log, err := s.followTimeline(ctx, conn, 0)
	if err != nil {
		return cdc.Position{}, fmt.Errorf("copy tables: %w", err)
	}
	at, err := s.openSnapshot(ctx, conn)
	if err != nil {
		return cdc.Position{}, fmt.Errorf("copy tables: %w", err)
	}
	if !s.lineage.tell(log.Timeline, at.Major) {
		return cdc.Position{}, fmt.Errorf("copy tables: %w", errSuperseded)
	}
	for _, d := range defs {
		s.registry.copied(d, at.Major)
	}
	if err := sink.Begin(ctx, at, begun); err != nil {
		return cdc.Position{}, err
	}
	for _, id := range stale {
		if err := sink.Stopped(ctx, id, s.changedMeanwhile(id)); err != nil {
			return cdc.Position{}, err
		}
	}
	if err := s.copyAll(ctx, conn, defs, sink); err != nil {
		return cdc.Position{}, err
	}
	return at, s.awaitStandbys(ctx, conn, at)
}

// awaitStandbys waits until the standbys that the stream waits for have everything up to a position: a copy must not tell what is lost in
// a failover either. It asks by the copy's own connection, which ends with the server that was copied.
func (s *Source) awaitStandbys(ctx context.Context, conn *pgconn.PgConn, at cdc.Position) error {
	if !s.cfg.Failover {
		return nil
	}
	question := fmt.Sprintf(`SELECT NOT EXISTS (
		SELECT FROM unnest(string_to_array(current_setting('synchronized_standby_slots', true), ',')) AS standby(name)
		LEFT JOIN pg_replication_slots held ON held.slot_name = btrim(standby.name, ' "')
		WHERE held.restart_lsn IS NULL OR held.restart_lsn < '%s')`, at)
	for {
		results, err := conn.Exec(ctx, question).ReadAll()
		if err != nil {
			return fmt.Errorf("wait for standbys to have what was copied: %w", err)
		}
		if string(results[0].Rows[0][0]) == "t" {
			return nil
		}
		if err := pauseFor(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("wait for standbys to have what was copied: %w", err)
		}
	}
}

// The settings of the connections that copy.
const (
	bypassPolicies = "SET row_security = off" // or fail
	limitLockWaits = "SET lock_timeout = '30s'"
)

// openSnapshot begins a transaction on the snapshot of a temporary slot and returns the
// position at which that snapshot is exact.
func (s *Source) openSnapshot(ctx context.Context, conn *pgconn.PgConn) (cdc.Position, error) {
	// The slot's name need only be unique among the connections that copy at this moment.
	create := fmt.Sprintf("CREATE_REPLICATION_SLOT %s TEMPORARY LOGICAL pgoutput (SNAPSHOT 'use')", ident(s.named("", fmt.Sprintf("_copy_%d", conn.PID()))))
	// A slot waits for transactions, as for locks, however long they last: whoever gives up waits for later ones the next time.
	if err := conn.Exec(ctx, bypassPolicies+"; SET lock_timeout = 0; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").Close(); err != nil {
		return cdc.Position{}, fmt.Errorf("begin snapshot: %w", err)
	}
	defer s.tellCopyWaits(ctx, conn.PID())()
	row, err := ask(ctx, conn, create, 2)
	if err != nil {
		return cdc.Position{}, fmt.Errorf("create temporary replication slot for a snapshot (is max_replication_slots large enough?): %w", err)
	}
	if err := conn.Exec(ctx, limitLockWaits).Close(); err != nil {
		return cdc.Position{}, fmt.Errorf("begin snapshot: %w", err)
	}
	return cdc.ParsePosition(string(row[1]))
}

// tableIsAtFault says whether a failure concerns the table read and not the server: undefined
// table, schema, column or function, or a lock not to be had.
func tableIsAtFault(state string) bool {
	switch state {
	case stateUndefinedTable, "3F000", "42703", "42883", stateLockNotAvailable, stateDeadlock:
		return true
	}
	return false
}

// rowIsAtFault says whether a failure is about what the table holds, and will be there the next time: a row that exceeds what the server
// can send (a message of 1 GB), or one that is damaged. Other tables can be copied.
func rowIsAtFault(state string) bool {
	return strings.HasPrefix(state, "54") || strings.HasPrefix(state, "XX")
}

// unchanged returns a table error unless the catalog still has definition d, and the table's file is
// the one that the snapshot knows. TRUNCATE and rewrites put a new file in place, in which an
// older snapshot sees no rows: the copy would be empty although the changes up to the TRUNCATE are still to come.
func (s *Source) unchanged(ctx context.Context, conn *pgconn.PgConn, d *definition) error {
	now, err := s.discover(ctx, d.table.ID)
	if err != nil {
		return err
	}
	if len(now) != 1 || !sameDefinition(now[0], d) {
		return s.changedMeanwhile(d.table.ID)
	}
	// The column is read with the snapshot, the function looks at the present. Partitions' files are in d's version.
	sql := fmt.Sprintf("SELECT c.relfilenode = coalesce(pg_relation_filenode(c.oid), 0) FROM pg_class c WHERE c.oid = %d", d.table.ID)
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 || string(results[0].Rows[0][0]) != "t" {
		return s.changedMeanwhile(d.table.ID)
	}
	return nil
}

func (s *Source) changedMeanwhile(id cdc.TableID) *cdc.TableError {
	name := fmt.Sprintf("with OID %d", id)
	if d, _ := s.registry.get(id); d != nil {
		if d.stopped != nil {
			why := *d.stopped
			return &why
		}
		name = d.shape.schema + "." + d.shape.name
	}
	return &cdc.TableError{Code: cdc.CodeSchemaChange, Table: name, Detail: "it was altered or dropped while it was being copied",
		Remedy: "nothing to do: its new definition is announced and copied by itself"}
}

// connectReplication opens a replication connection; adjust, if given, has the last word on its configuration.
func (s *Source) connectReplication(ctx context.Context, adjust func(*pgconn.Config)) (*pgconn.PgConn, error) {
	cfg := s.pool.Config().ConnConfig.Config.Copy()
	cfg.RuntimeParams["replication"] = "database"
	cfg.RuntimeParams["application_name"] = s.applicationName()
	if adjust != nil {
		adjust(cfg)
	}
	conn, err := pgconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect for replication: %w", err)
	}
	if err := unlimit(ctx, conn); err != nil {
		s.closeQuietly(conn)
		return nil, fmt.Errorf("connect for replication: %w", err)
	}
	s.placeSender(conn)
	return conn, nil
}

// closeQuietly closes a connection whose work is done or has failed already.
func (s *Source) closeQuietly(conn *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := conn.Close(ctx); err != nil {
		s.log.Debug("closing connection", "error", err)
	}
}
