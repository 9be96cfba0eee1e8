package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// wantAlike compares what the replica answers with what PostgreSQL does. At least a share of the statements has to run on the replica.
func wantAlike(t *testing.T, schema string, share float64, statements []string) {
	t.Helper()
	columnar, oltp := start(t, schema).routes()
	wantAlikeIn(t, columnar, oltp, share, statements)
}

// wantAlikeIn is wantAlike in sessions of the two routes.
func wantAlikeIn(t *testing.T, columnar, oltp *pgx.Conn, share float64, statements []string) {
	t.Helper()
	ran := 0
	for _, sql := range statements {
		if alike(t, columnar, oltp, sql, inOrder) != refused {
			ran++
		}
	}
	wantShare(t, ran, len(statements), share)
}

// wantAlikeByRow is wantAlike of values in each row of a table, of which the ids are 0 to rows-1. Rows are asked for together as long as the
// replica answers: one that is left to PostgreSQL, or fails, takes the others along. What is refused without a row is refused with any.
func wantAlikeByRow(t *testing.T, columnar, oltp *pgx.Conn, share float64, values []string, table string, rows int) {
	t.Helper()
	ran := 0
	for _, value := range values {
		between := func(first, end int) ending {
			return alike(t, columnar, oltp, fmt.Sprintf("SELECT %s AS v FROM %s WHERE id BETWEEN %d AND %d", value, table, first, end-1), inAnyOrder)
		}
		var halve func(first, end int)
		halve = func(first, end int) {
			got := between(first, end)
			switch {
			case end-first == rows && got == refused && between(first, first) == refused:
			case got != answered && end-first > 1:
				middle := (first + end) / 2
				halve(first, middle)
				halve(middle, end)
			case got != refused:
				ran += end - first
			}
		}
		halve(0, rows)
	}
	wantShare(t, ran, len(values)*rows, share)
}

// ending is how a statement ends on the replica, if it ends there as it does on PostgreSQL.
type ending int

const (
	refused ending = iota // it cannot run there
	answered
	failed
)

// order is whether the rows of two answers are to come in the same one.
type order bool

const (
	inOrder    order = true
	inAnyOrder order = false
)

// alike compares what the replica answers with what PostgreSQL does.
func alike(t *testing.T, columnar, oltp *pgx.Conn, sql string, rows order) ending {
	t.Helper()
	got := outcome(t, columnar, sql)
	if slices.Equal(got, []string{"SQLSTATE 55000"}) || slices.Equal(got, []string{"SQLSTATE 0A000"}) {
		return refused
	}
	want := outcome(t, oltp, sql)
	if rows == inAnyOrder {
		slices.Sort(got)
		slices.Sort(want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %.300v, PostgreSQL says %.300v", sql, got, want)
	}
	if len(got) == 1 && strings.HasPrefix(got[0], "SQLSTATE ") {
		return failed
	}
	return answered
}

func wantShare(t *testing.T, ran, of int, share float64) {
	t.Helper()
	if ran < int(share*float64(of)) {
		t.Errorf("%d of %d ran on the replica, want %.0f %%", ran, of, share*100)
	}
}
