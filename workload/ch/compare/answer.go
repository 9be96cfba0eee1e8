package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/workload/ch"
)

// answer is a result in text format. NULL is "\N" and cannot be mistaken for a
// value, because values have their backslashes doubled.
type answer struct {
	columns []string
	rows    [][]string
}

// ask runs q: with placeholders by the extended protocol, without by the simple one.
func ask(ctx context.Context, conn *pgconn.PgConn, q ch.Query) (answer, error) {
	if len(q.Args) == 0 {
		results := conn.Exec(ctx, q.SQL)
		defer results.Close()
		var a answer
		for results.NextResult() {
			if err := a.read(results.ResultReader()); err != nil {
				return a, err
			}
		}
		return a, results.Close()
	}
	var a answer
	err := a.read(conn.ExecParams(ctx, q.SQL, parameters(q.Args), nil, nil, nil))
	return a, err
}

func (a *answer) read(r *pgconn.ResultReader) error {
	for _, f := range r.FieldDescriptions() {
		a.columns = append(a.columns, fmt.Sprintf("%s type %d(%d)", f.Name, f.DataTypeOID, f.TypeModifier))
	}
	for r.NextRow() {
		row := make([]string, len(a.columns))
		for i, v := range r.Values() {
			row[i] = `\N`
			if v != nil {
				row[i] = strings.ReplaceAll(string(v), `\`, `\\`)
			}
		}
		a.rows = append(a.rows, row)
	}
	_, err := r.Close()
	return err
}

func parameters(args []any) [][]byte {
	out := make([][]byte, len(args))
	for i, a := range args {
		if t, ok := a.(time.Time); ok {
			a = t.Format("2006-01-02 15:04:05")
		}
		out[i] = fmt.Append(nil, a)
	}
	return out
}

// difference says how got differs from want, or nothing. Rows must come in the same order as far as
// the columns of order tell; rows that tie in them may come in any.
func difference(want, got answer, order []int) string {
	if !slices.Equal(want.columns, got.columns) {
		return fmt.Sprintf("columns %q, PostgreSQL has %q", got.columns, want.columns)
	}
	if len(want.rows) != len(got.rows) {
		return fmt.Sprintf("%d rows, PostgreSQL has %d", len(got.rows), len(want.rows))
	}
	for i := range want.rows {
		for _, c := range order {
			if want.rows[i][c] != got.rows[i][c] {
				return fmt.Sprintf("row %d is %q, PostgreSQL has %q: out of order", i+1, got.rows[i], want.rows[i])
			}
		}
	}
	w, g := sorted(want.rows), sorted(got.rows)
	for i := range w {
		if !slices.Equal(w[i], g[i]) {
			return fmt.Sprintf("rows sorted as text, row %d is %q, PostgreSQL has %q", i+1, g[i], w[i])
		}
	}
	return ""
}

func sorted(rows [][]string) [][]string {
	return slices.SortedFunc(slices.Values(rows), slices.Compare[[]string])
}
