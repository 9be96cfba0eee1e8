package cockroachdb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/connectors/cdc"
)

// allowInternals opens crdb_internal, which recent versions close unless a session asks for it. Older ones do not know
// the setting, and a role may be forbidden to set it: the questions that follow then say so.
func allowInternals(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.PgConn().ExecParams(ctx, "SET allow_unsafe_internals = on", nil, nil, nil, nil).Close()
	if _, ok := errors.AsType[*pgconn.PgError](err); ok {
		return nil
	}
	return err
}

// ClusterID implements [Database].
func (d *SQL) ClusterID(ctx context.Context) (string, error) {
	rows, err := d.query(ctx, "SELECT crdb_internal.cluster_id()::STRING")
	if err != nil {
		return "", fmt.Errorf("read the cluster's ID: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 || rows[0][0] == "" {
		return "", errors.New("read the cluster's ID: unexpected answer")
	}
	return rows[0][0], nil
}

// versionsSQL asks for the versions of tables' descriptors and the timestamp at which they are read.
const versionsSQL = `SELECT (SELECT string_agg(table_id::STRING || '=' || version::STRING, ' ')
	FROM crdb_internal.tables WHERE drop_time IS NULL AND table_id IN (%s)), cluster_logical_timestamp()::STRING`

// clockWait is how long to wait before a node is asked again whose clock is behind.
const clockWait = 20 * time.Millisecond

// Versions implements [Database] by the versions of the tables' descriptors, which every schema change raises, those
// that rewrite rows without a change in the stream too, and GRANT.
func (d *SQL) Versions(ctx context.Context, ids []cdc.TableID, since cdc.Position) (map[cdc.TableID]string, error) {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = strconv.FormatUint(uint64(id), 10)
	}
	for {
		rows, err := d.query(ctx, fmt.Sprintf(versionsSQL, strings.Join(list, ", ")))
		if err != nil {
			return nil, fmt.Errorf("read versions of tables: %w", err)
		}
		versions, at, err := parseVersions(rows)
		if err != nil || !at.Before(since) {
			return versions, err
		}
		select { // the node that answered has not come to that time yet
		case <-time.After(clockWait):
		case <-ctx.Done():
			return nil, fmt.Errorf("read versions of tables: %w", context.Cause(ctx))
		}
	}
}

func parseVersions(rows [][]string) (map[cdc.TableID]string, cdc.Position, error) {
	if len(rows) != 1 || len(rows[0]) != 2 {
		return nil, cdc.Position{}, errors.New("read versions of tables: unexpected answer")
	}
	at, err := parseHLC(rows[0][1])
	if err != nil {
		return nil, at, fmt.Errorf("read versions of tables: %q: %w", rows[0][1], err)
	}
	versions := map[cdc.TableID]string{}
	for pair := range strings.FieldsSeq(rows[0][0]) {
		text, version, _ := strings.Cut(pair, "=")
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil || version == "" {
			return nil, at, fmt.Errorf("read versions of tables: unexpected answer %q", pair)
		}
		versions[cdc.TableID(id)] = version
	}
	return versions, at, nil
}

// unchanged splits tables by whether they have, at a timestamp, the versions that they were announced with.
func (d *SQL) unchanged(ctx context.Context, tables []*cdc.Table, at cdc.Position) (same, changed []*cdc.Table, err error) {
	var ids []cdc.TableID
	for _, t := range tables {
		if t.Version != "" {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return tables, nil, nil
	}
	// Versions only rise: who has one before and after has had it in between.
	now, err := d.Versions(ctx, ids, at)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range tables {
		if t.Version == "" || now[t.ID] == t.Version {
			same = append(same, t)
		} else {
			changed = append(changed, t)
		}
	}
	return same, changed, nil
}
