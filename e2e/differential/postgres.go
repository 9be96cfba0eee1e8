package differential

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
)

// Statement is a query as a client sends it, with PostgreSQL's description of it.
type Statement struct {
	SQL string
	// Declared are the parameter types that the client declares; 0 leaves one to be inferred.
	Declared []uint32
	Values   [][]byte
	Formats  []int16
	// ResultFormats is empty for text.
	ResultFormats []int16
	// Description is PostgreSQL's; nil before it was asked.
	Description *pgconn.StatementDescription
}

// NewStatement encodes a query's parameters.
func NewStatement(q sqlgen.Query) (Statement, error) {
	st := Statement{SQL: q.SQL}
	types := pgtype.NewMap()
	for i, p := range q.Params {
		st.Declared = append(st.Declared, p.OID)
		if p.Text == nil {
			st.Values, st.Formats = append(st.Values, nil), append(st.Formats, 0)
			continue
		}
		value, format := []byte(*p.Text), int16(0)
		if p.Binary {
			encoded, err := binaryValue(types, p.Type, value)
			if err != nil {
				return Statement{}, fmt.Errorf("encode parameter %d of seeded query: %w", i+1, err)
			}
			if encoded != nil {
				value, format = encoded, 1
			}
		}
		st.Values, st.Formats = append(st.Values, value), append(st.Formats, format)
	}
	if q.BinaryResult {
		st.ResultFormats = []int16{1}
	}
	return st, nil
}

// binaryValue converts a value's text to the type's binary format; nil where the client's
// types cannot hold it (years before Christ, infinite dates).
func binaryValue(types *pgtype.Map, oid uint32, text []byte) ([]byte, error) {
	t, ok := types.TypeForOID(oid)
	if !ok {
		return nil, fmt.Errorf("type %d is unknown", oid)
	}
	v, err := t.Codec.DecodeValue(types, oid, pgtype.TextFormatCode, text)
	if err != nil {
		return nil, nil //nolint:nilerr // sent as text instead
	}
	encoded, err := types.Encode(oid, pgtype.BinaryFormatCode, v, []byte{})
	if err != nil {
		return nil, nil //nolint:nilerr // likewise
	}
	return encoded, nil
}

// Postgres answers from a PostgreSQL session, which may as well be one of the gateway.
type Postgres struct {
	conn *pgconn.PgConn
}

// Connect opens a session with the world's settings.
func Connect(ctx context.Context, dsn string, w *sqlgen.World) (*Postgres, error) {
	conn, err := pgconn.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("connect session: %w", err)
	}
	p := &Postgres{conn: conn}
	if err := p.Exec(ctx, fmt.Sprintf("SET TimeZone = '%s'; SET statement_timeout = '4s'; SET search_path = %s", w.TimeZone, w.Schema)); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return p, nil
}

// Close ends the session.
func (p *Postgres) Close(ctx context.Context) error { return p.conn.Close(ctx) }

// Exec runs statements whose results do not matter.
func (p *Postgres) Exec(ctx context.Context, sql string) error {
	if _, err := p.conn.Exec(ctx, sql).ReadAll(); err != nil {
		return fmt.Errorf("execute %.80q: %w", sql, err)
	}
	return nil
}

// Describe has the server parse the statement. A refusal is the answer.
func (p *Postgres) Describe(ctx context.Context, st *Statement) (*Answer, error) {
	d, err := p.conn.Prepare(ctx, "", st.SQL, st.Declared)
	if err != nil {
		return refusal(err)
	}
	st.Description = d
	return nil, nil
}

// Answer runs the statement, which the session described last.
func (p *Postgres) Answer(ctx context.Context, st Statement) (Answer, error) {
	r := p.conn.ExecPrepared(ctx, "", st.Values, st.Formats, st.ResultFormats).Read()
	if r.Err != nil {
		a, err := refusal(r.Err)
		if err != nil {
			return Answer{}, err
		}
		return *a, nil
	}
	return Answer{Columns: describedColumns(st), Rows: r.Rows}, nil
}

func describedColumns(st Statement) []Column {
	var columns []Column
	for _, f := range st.Description.Fields {
		columns = append(columns, Column{Name: f.Name, OID: f.DataTypeOID})
	}
	return columns
}

// refusal tells a server's error from a broken session.
func refusal(err error) (*Answer, error) {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Severity == "ERROR" {
		return &Answer{Err: e}, nil
	}
	return nil, fmt.Errorf("query session: %w", err)
}

// planSettings make PostgreSQL plan differently; a fair query has the same answer under each.
var planSettings = []string{
	"SET enable_hashjoin = off; SET enable_hashagg = off; SET enable_material = off",
	"SET enable_nestloop = off; SET enable_mergejoin = off; SET enable_sort = off; SET enable_memoize = off; SET enable_seqscan = off",
	"SET join_collapse_limit = 1; SET from_collapse_limit = 1",
}

// AnswerWithPlan runs the statement under other planner settings.
func (p *Postgres) AnswerWithPlan(ctx context.Context, st Statement, settings string) (Answer, error) {
	if err := p.Exec(ctx, settings); err != nil {
		return Answer{}, err
	}
	a, err := p.Describe(ctx, &st)
	if a == nil && err == nil {
		var answer Answer
		answer, err = p.Answer(ctx, st)
		a = &answer
	}
	if err != nil {
		return Answer{}, err
	}
	for s := range strings.SplitSeq(settings, ";") {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(s), "SET "), " ")
		if err := p.Exec(ctx, "RESET "+name); err != nil {
			return Answer{}, err
		}
	}
	return *a, nil
}
