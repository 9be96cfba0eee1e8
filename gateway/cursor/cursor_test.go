package cursor_test

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"github.com/freshet-io/freshet/e2e/stand"
	"github.com/freshet-io/freshet/gateway/cursor"
)

// text is a statement as it is written in SQL, for the cursor c.
func text(s cursor.Statement) string {
	verb := map[cursor.Action]string{cursor.Fetch: "FETCH", cursor.Move: "MOVE"}[s.Action]
	direction := map[cursor.Direction]string{cursor.Forward: "FORWARD", cursor.Backward: "BACKWARD", cursor.Absolute: "ABSOLUTE", cursor.Relative: "RELATIVE"}[s.Direction]
	count := strconv.FormatInt(s.Count, 10)
	if s.Count == cursor.All {
		count = "ALL"
	}
	return fmt.Sprintf("%s %s %s FROM c", verb, direction, count)
}

// Wherever a cursor is moved to, its rows are those that PostgreSQL's has.
func TestPosition_movesAsPostgreSQLsCursor(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), stand.Postgres(t).URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	statement := rapid.Custom(func(t *rapid.T) cursor.Statement {
		s := cursor.Statement{Action: rapid.SampledFrom([]cursor.Action{cursor.Fetch, cursor.Move}).Draw(t, "action"),
			Direction: rapid.SampledFrom([]cursor.Direction{cursor.Forward, cursor.Backward, cursor.Absolute, cursor.Relative}).Draw(t, "direction"),
			Count:     rapid.Int64Range(-7, 7).Draw(t, "count")}
		if s.Direction <= cursor.Backward && rapid.IntRange(0, 3).Draw(t, "all") == 0 {
			s.Count = cursor.All
		}
		return s
	})
	rapid.Check(t, func(t *rapid.T) {
		rows, scrolls := rapid.Int64Range(0, 5).Draw(t, "rows"), rapid.Bool().Draw(t, "scrolls")
		options := map[bool]string{true: "SCROLL", false: "NO SCROLL"}[scrolls]
		if _, err := conn.Exec(t.Context(), fmt.Sprintf("BEGIN; DECLARE c %s CURSOR FOR SELECT generate_series(1, %d)", options, rows)); err != nil {
			t.Fatal(err)
		}
		defer conn.Exec(t.Context(), "ROLLBACK")
		var at cursor.Position
		for _, s := range rapid.SliceOfN(statement, 1, 8).Draw(t, "statements") {
			var want, got []string
			result := conn.PgConn().ExecParams(t.Context(), text(s), nil, nil, nil, nil).Read()
			for _, row := range result.Rows {
				want = append(want, string(row[0]))
			}
			span, next, err := at.Go(s, rows, scrolls)
			if result.Err != nil {
				if e, ok := errors.AsType[*pgconn.PgError](result.Err); !ok || e.Code != "55000" || !errors.Is(err, cursor.ErrForwardOnly) {
					t.Fatalf("%s at %d of %d: %v, where PostgreSQL has %v", text(s), at, rows, err, result.Err)
				}
				return
			}
			for i := range span.Count {
				if span.Down {
					i = -i
				}
				if s.Action == cursor.Fetch {
					got = append(got, strconv.FormatInt(span.First+i, 10))
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil || result.CommandTag.RowsAffected() != span.Count {
				t.Fatalf("%s at %d of %d: %v, %d rows where PostgreSQL has %d (-want +got):\n%s", text(s), at, rows, err, span.Count, result.CommandTag.RowsAffected(), diff)
			}
			at = next
		}
	})
}
