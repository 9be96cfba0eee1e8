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
	var left []string
	for _, sql := range statements {
		if alike(t, columnar, oltp, sql, inOrder) == refused {
			left = append(left, sql)
		}
	}
	if !wantShare(t, len(statements)-len(left), len(statements), share) {
		t.Logf("refused: %.5000s", strings.Join(left, "; "))
	}
}

// wantAlikeByRow is wantAlike of values in each row of a table, of which the ids are 0 to rows-1. Rows are asked for together as long as the
// replica answers: one that is left to PostgreSQL, or fails, takes the others along. What is refused without a row is refused with any.
func wantAlikeByRow(t *testing.T, columnar, oltp *pgx.Conn, share float64, values []string, table string, rows int) {
	t.Helper()
	all := make([]int, rows)
	for id := range all {
		all[id] = id
	}
	ran := 0
	var spoilers []int // rows that the last value which no single statement answered was refused for, or failed for
	for _, value := range values {
		ask := func(ids []int) ending {
			list := strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ",")
			return alike(t, columnar, oltp, fmt.Sprintf("SELECT %s AS v FROM %s WHERE id = ANY ('{%s}')", value, table, list), inAnyOrder)
		}
		if ask(all) == answered {
			ran += rows
			continue
		}
		if ask(nil) == refused {
			continue
		}
		var found []int
		var halve func(ids []int)
		halve = func(ids []int) {
			switch got := ask(ids); {
			case got == answered:
				ran += len(ids)
			case len(ids) > 1:
				halve(ids[:len(ids)/2])
				halve(ids[len(ids)/2:])
			default:
				found = append(found, ids[0])
				if got == failed {
					ran++
				}
			}
		}
		// Values are alike: most of those rows spoil this one, too, and are not worth looking for among the others.
		if rest := slices.DeleteFunc(slices.Clone(all), func(id int) bool { return slices.Contains(spoilers, id) }); len(rest) > 0 {
			halve(rest)
		}
		for _, id := range spoilers {
			halve([]int{id})
		}
		spoilers = found
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

func wantShare(t *testing.T, ran, of int, share float64) (ok bool) {
	t.Helper()
	if ok = ran >= int(share*float64(of)); !ok {
		t.Errorf("%d of %d ran on the replica, want %.0f %%", ran, of, share*100)
	}
	return ok
}
