package cockroachdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/connectors/dial"
)

// SQLConfig says how to ask CockroachDB. Zero values mean the documented defaults.
type SQLConfig struct {
	// URL is the connection string of a role that may read the tables and see changefeed jobs (VIEWJOB), and with
	// Manage may make changefeeds (CHANGEFEED on the tables). Its database is the one that is replicated. Required.
	URL string
	// Include and Exclude are patterns on schema.table, in which * stands for any characters and ?
	// for one. A table is selected if it matches an Include and no Exclude. Default Include: "public.*".
	Include, Exclude []string
	// Changefeed makes its statements. Its Prefix tells the changefeed from others.
	Changefeed Statements
	// Manage says that the changefeed is ours to create and to alter. Otherwise somebody else does (an operator), and
	// tables that it does not emit are stopped.
	Manage bool
	// MaxClockOffset is the cluster's --max-offset: a commit that was acknowledged by another node may be so much ahead
	// of the clock that is asked. Default 500 ms, the cluster's default.
	MaxClockOffset time.Duration
	// Logger receives transitions. Default: discard.
	Logger *slog.Logger
}

// SQL is a [Database] that asks by the PostgreSQL protocol.
type SQL struct {
	cfg      SQLConfig
	selector cdc.Selector
	pool     *pgxpool.Pool
	database string
}

var _ Database = (*SQL)(nil)

// OpenSQL returns a database. It does not connect yet.
func OpenSQL(cfg SQLConfig) (*SQL, error) {
	if cfg.URL == "" {
		return nil, errors.New("configure CockroachDB: URL is empty; give a connection string")
	}
	sel, err := cdc.NewSelector(cfg.Include, cfg.Exclude)
	if err != nil {
		return nil, err
	}
	setDefault(&cfg.MaxClockOffset, 500*time.Millisecond)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("configure CockroachDB: %w", err)
	}
	pc.MaxConns = 4
	dial.GuardPool(pc)
	pc.ConnConfig.RuntimeParams["application_name"] = "freshet"
	pc.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable" // cluster_logical_timestamp() needs it
	pc.AfterConnect = allowInternals
	pool, err := pgxpool.NewWithConfig(context.Background(), pc)
	if err != nil {
		return nil, fmt.Errorf("configure CockroachDB: %w", err)
	}
	return &SQL{cfg: cfg, selector: sel, pool: pool, database: pc.ConnConfig.Database}, nil
}

// Close releases the connections.
func (d *SQL) Close() { d.pool.Close() }

// Name returns a table's full name.
func (d *SQL) name(t *cdc.Table) TableName { return TableName{d.database, t.Schema, t.Name} }

// Topic implements [Database].
func (d *SQL) Topic(t *cdc.Table) string { return d.cfg.Changefeed.Topic(d.name(t)) }

// query reads all rows of a statement as text; NULL is empty.
func (d *SQL) query(ctx context.Context, sql string) ([][]string, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to CockroachDB: %w", err)
	}
	defer conn.Release()
	result := conn.Conn().PgConn().ExecParams(ctx, sql, nil, nil, nil, nil)
	var rows [][]string
	for result.NextRow() {
		values := result.Values()
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = string(v)
		}
		rows = append(rows, row)
	}
	if _, err := result.Close(); err != nil {
		return nil, err
	}
	return rows, nil
}

// Tables implements [Database].
func (d *SQL) Tables(ctx context.Context) ([]cdc.Discovered, error) {
	rows, err := d.query(ctx, catalogSQL)
	if err != nil {
		return nil, fmt.Errorf("read catalog: %w", err)
	}
	var found []cdc.Discovered
	var wanted []TableName
	for _, row := range rows {
		t, err := parseTable(row)
		if err != nil {
			return nil, err
		}
		if !d.selector.Selects(t.schema, t.name) {
			continue
		}
		x := t.discover()
		found = append(found, x)
		if x.Stopped == nil {
			wanted = append(wanted, d.name(x.Table))
		}
	}
	if len(wanted) == 0 {
		return found, nil
	}
	emitting, err := d.align(ctx, wanted)
	if err != nil {
		return nil, err
	}
	for i := range found {
		if name := d.name(found[i].Table); found[i].Stopped == nil && !emitting.emits(name) {
			found[i].Stopped = &cdc.TableError{Code: cdc.CodeConfiguration, Table: found[i].Table.FullName(), Detail: "the changefeed does not emit it",
				Remedy: "PAUSE JOB " + emitting.id + "; ALTER CHANGEFEED " + emitting.id + " ADD " + name.String() + "; RESUME JOB " + emitting.id + "; or exclude it"}
		}
	}
	return found, nil
}

// jobs lists the changefeeds.
func (d *SQL) jobs(ctx context.Context) ([]job, error) {
	rows, err := d.query(ctx, jobsSQL)
	if err != nil {
		return nil, fmt.Errorf("read changefeed jobs: %w", err)
	}
	jobs := make([]job, len(rows))
	for i, row := range rows {
		if jobs[i], err = parseJob(row); err != nil {
			return nil, err
		}
	}
	return jobs, nil
}

// Changefeed implements [Database].
func (d *SQL) Changefeed(ctx context.Context) (Changefeed, error) {
	jobs, err := d.jobs(ctx)
	if err != nil {
		return Changefeed{}, err
	}
	j, err := choose(jobs, d.cfg.Changefeed.Prefix)
	if err != nil || j == nil {
		return Changefeed{}, err
	}
	return j.changefeed()
}

// now asks for the cluster's time.
func (d *SQL) now(ctx context.Context) (cdc.Position, error) {
	rows, err := d.query(ctx, "SELECT cluster_logical_timestamp()::STRING")
	if err != nil {
		return cdc.Position{}, fmt.Errorf("read the cluster's time: %w", err)
	}
	if len(rows) != 1 || len(rows[0]) != 1 {
		return cdc.Position{}, errors.New("read the cluster's time: unexpected answer")
	}
	p, err := parseHLC(rows[0][0])
	if err != nil {
		return p, fmt.Errorf("read the cluster's time: %q: %w", rows[0][0], err)
	}
	return p, nil
}

// Now implements [Database]. The clock of a node may be behind that of the node which acknowledged a commit, by the
// greatest offset that the cluster allows.
func (d *SQL) Now(ctx context.Context) (cdc.Position, error) {
	p, err := d.now(ctx)
	if err != nil {
		return p, err
	}
	return cdc.Position{Major: p.Major + uint64(d.cfg.MaxClockOffset), Minor: p.Minor}, nil
}

// What is handed over in one call is at most copyChunk rows, and no more than copyBytes plus one row.
const (
	copyChunk = 1000
	copyBytes = 1 << 20
)

// Copy implements [Database] by reading every table AS OF one timestamp.
func (d *SQL) Copy(ctx context.Context, tables []*cdc.Table, sink cdc.CopySink) (cdc.Position, error) {
	at, err := d.now(ctx)
	if err != nil {
		return at, err
	}
	tables, changed, err := d.unchanged(ctx, tables, at)
	if err != nil {
		return at, err
	}
	if err := sink.Begin(ctx, at, tables); err != nil {
		return at, err
	}
	for _, t := range changed {
		if err := sink.Stopped(ctx, t.ID, altered(t, "it was altered or dropped before it was copied")); err != nil {
			return at, err
		}
	}
	for _, t := range tables {
		why, err := d.copyTable(ctx, t, at, sink)
		switch {
		case err != nil:
		case why != nil:
			err = sink.Stopped(ctx, t.ID, why)
		default:
			err = sink.Done(ctx, t)
		}
		if err != nil {
			return at, err
		}
	}
	return at, nil
}

func selectAsOf(t *cdc.Table, name TableName, at cdc.Position) string {
	columns := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		columns[i] = identifier(c.Name)
	}
	return fmt.Sprintf("SELECT %s FROM %s AS OF SYSTEM TIME %s", strings.Join(columns, ", "), name, literal(formatHLC(at)))
}

// copyTable reads one table; it says why if the table is at fault.
func (d *SQL) copyTable(ctx context.Context, t *cdc.Table, at cdc.Position, sink cdc.CopySink) (*cdc.TableError, error) {
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to CockroachDB: %w", err)
	}
	defer conn.Release()
	const binaryFormat = 1
	result := conn.Conn().PgConn().ExecParams(ctx, selectAsOf(t, d.name(t), at), nil, nil, nil, []int16{binaryFormat})
	rows := copyRows{table: t, sink: sink}
	for result.NextRow() {
		if why := rows.check(result.FieldDescriptions()); why != nil {
			_, _ = result.Close()
			return why, nil
		}
		if err := rows.add(ctx, result.Values()); err != nil {
			_, _ = result.Close()
			return nil, err
		}
	}
	if _, err := result.Close(); err != nil {
		return blame(t, err)
	}
	return nil, rows.flush(ctx)
}

// altered says that a copy gives up a table that is to be announced anew.
func altered(t *cdc.Table, detail string) *cdc.TableError {
	return &cdc.TableError{Code: cdc.CodeSchemaChange, Table: t.FullName(), Detail: detail,
		Remedy: "nothing to do: its new definition is announced and copied by itself"}
}

// blame tells errors that one table has caused from those of the connection or the server.
func blame(t *cdc.Table, err error) (*cdc.TableError, error) {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pgErr.Code {
		case "42P01", "42703", "3F000": // undefined table, column, schema
			return altered(t, "it was altered or dropped while it was being copied: "+pgErr.Message), nil
		case "42501": // insufficient privilege
			return &cdc.TableError{Code: cdc.CodePrivilege, Table: t.FullName(), Detail: pgErr.Message, Remedy: "GRANT SELECT on it to the source's role"}, nil
		}
	}
	return nil, fmt.Errorf("copy table %s: %w", t.FullName(), err)
}

// copyRows collects rows for a sink. Their memory is used again.
type copyRows struct {
	table   *cdc.Table
	sink    cdc.CopySink
	checked bool
	rows    []cdc.Row
	arena   []byte
}

// check makes sure that the columns have the types that they were announced with.
func (r *copyRows) check(fields []pgconn.FieldDescription) *cdc.TableError {
	if r.checked {
		return nil
	}
	r.checked = true
	for i, f := range fields {
		if c := r.table.Columns[i]; f.DataTypeOID != c.Type {
			return altered(r.table, fmt.Sprintf("the type of column %q changed before it was copied", c.Name))
		}
	}
	return nil
}

func (r *copyRows) add(ctx context.Context, values [][]byte) error {
	row := make(cdc.Row, len(values))
	for i, v := range values {
		if v == nil {
			row[i] = cdc.Datum{Kind: cdc.Null}
			continue
		}
		start := len(r.arena) // rows at hand keep the memory that append leaves behind
		r.arena = append(r.arena, v...)
		row[i] = cdc.Datum{Kind: cdc.Binary, Data: r.arena[start:len(r.arena):len(r.arena)]}
	}
	r.rows = append(r.rows, row)
	if len(r.rows) < copyChunk && len(r.arena) < copyBytes {
		return nil
	}
	return r.flush(ctx)
}

func (r *copyRows) flush(ctx context.Context) error {
	if len(r.rows) == 0 {
		return nil
	}
	err := r.sink.Rows(ctx, r.table, r.rows)
	r.rows, r.arena = r.rows[:0], r.arena[:0]
	if cap(r.arena) > 8*copyBytes { // after a huge row
		r.arena = nil
	}
	return err
}
