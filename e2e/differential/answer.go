package differential

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/freshet-io/freshet/e2e/differential/sqlgen"
)

// Answer is what an engine answered: rows or an error.
type Answer struct {
	Columns []Column
	Rows    [][][]byte // nil value: NULL
	// Err is the server's error, nil if it answered with rows.
	Err *pgconn.PgError
}

// Column is the name and type of an answer's column.
type Column struct {
	Name string
	OID  uint32
}

// Compare says in one line how the columnar answer got differs from PostgreSQL's answer want; "" if it does
// not. Rows are compared as a multiset, in the sequence of the columns that the query sorts by, and
// entirely in sequence where it fixes that.
func Compare(want, got Answer, q sqlgen.Query) string {
	switch {
	case want.Err != nil && got.Err == nil:
		return fmt.Sprintf("answered where PostgreSQL says %s: %s", want.Err.Code, want.Err.Message)
	case want.Err != nil && want.Err.Code != got.Err.Code:
		return fmt.Sprintf("SQLSTATE %s instead of %s", got.Err.Code, want.Err.Code)
	case want.Err != nil:
		return ""
	case got.Err != nil:
		return fmt.Sprintf("refused with %s: %s", got.Err.Code, got.Err.Message)
	case !slices.Equal(want.Columns, got.Columns):
		return fmt.Sprintf("columns %v instead of %v", got.Columns, want.Columns)
	case len(want.Rows) != len(got.Rows):
		return fmt.Sprintf("%d rows instead of %d", len(got.Rows), len(want.Rows))
	}
	if d := compareMultiset(want.Rows, got.Rows); d != "" {
		return d
	}
	return compareSequence(want.Rows, got.Rows, q)
}

func compareMultiset(want, got [][][]byte) string {
	a, b := slices.Clone(want), slices.Clone(got)
	slices.SortFunc(a, compareRows)
	slices.SortFunc(b, compareRows)
	for i := range a {
		if compareRows(a[i], b[i]) != 0 {
			return fmt.Sprintf("row %s instead of %s", Format(b[i]), Format(a[i]))
		}
	}
	return ""
}

func compareSequence(want, got [][][]byte, q sqlgen.Query) string {
	for i := range want {
		if q.Total && compareRows(want[i], got[i]) != 0 {
			return fmt.Sprintf("order: row %d is %s instead of %s", i+1, Format(got[i]), Format(want[i]))
		}
		for _, c := range q.OrderBy {
			if compareValues(want[i][c], got[i][c]) != 0 {
				return fmt.Sprintf("order: column %d of row %d is %s instead of %s", c+1, i+1, formatValue(got[i][c]), formatValue(want[i][c]))
			}
		}
	}
	return ""
}

func compareRows(a, b [][]byte) int {
	for i := range min(len(a), len(b)) {
		if c := compareValues(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func compareValues(a, b []byte) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return bytes.Compare(a, b)
}

// Format prints a row for people.
func Format(row [][]byte) string {
	parts := make([]string, len(row))
	for i, v := range row {
		parts[i] = formatValue(v)
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

func formatValue(v []byte) string {
	if v == nil {
		return "NULL"
	}
	return strconv.QuoteToGraphic(string(v))
}
