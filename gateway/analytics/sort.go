package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/freshet-io/freshet/gateway/datarow"
	"github.com/freshet-io/freshet/gateway/finish"
	"github.com/freshet-io/freshet/gateway/pgwire"
)

// sorted collects the result of a plan with a Sort, and returns the rows that the client sees. PostgreSQL ranks the strings on the session's connection.
func (q *query) sorted(ctx context.Context, reader result) (datarow.Rows, error) {
	var rows [][][]byte
	for size := 0; ; {
		more, err := reader.Next()
		if err == io.EOF { //nolint:errorlint // one that is wrapped is a connection's end, not the result's
			break
		}
		if err != nil {
			return datarow.Rows{}, err
		}
		rows = slices.AppendSeq(rows, more.Values())
		if size += len(more.Messages()) + more.Len()*len(q.plan.Columns())*sliceSize; size > mostSortedBytes {
			return datarow.Rows{}, q.tooLarge(finish.ErrTooMany)
		}
	}
	rows, err := q.plan.Sort.Rows(rows, func(collation string, values []string) ([]int, error) {
		return q.rank(ctx, collation, values)
	})
	return datarow.Of(rows...), q.tooLarge(err)
}

// tooLarge remembers that the statement is one for PostgreSQL, if that is what the error says.
func (q *query) tooLarge(err error) error {
	if errors.Is(err, finish.ErrTooMany) {
		q.tooMany.note(q.router.clock())
	}
	return err
}

// rank implements [finish.Rank].
func (q *query) rank(ctx context.Context, collation string, values []string) ([]int, error) {
	rows, err := q.session.Ask(ctx, rankSQL(collation, values))
	if err != nil {
		return nil, fmt.Errorf("%w by collation %s: %w", errUnranked, collation, err)
	}
	places := make([]int, len(rows))
	for i, row := range rows {
		n, err := strconv.Atoi(string(row[0]))
		if err != nil {
			return nil, fmt.Errorf("%w by collation %s: %w", errUnranked, collation, err)
		}
		places[i] = n - 1
	}
	return places, nil
}

// rankSQL is the statement that sorts strings; its rows have their numbers, from 1.
func rankSQL(collation string, values []string) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = pgwire.Quote(v)
	}
	return "SELECT s.number FROM pg_catalog.unnest(ARRAY[" + strings.Join(texts, ",") +
		"]::pg_catalog.text[]) WITH ORDINALITY AS s(value, number) ORDER BY s.value COLLATE " + collation
}

// sortText says for EXPLAIN who sorts.
func sortText(s *finish.Sort) string {
	var collations []string
	add := func(name string) {
		if name != "" && !slices.Contains(collations, name) {
			collations = append(collations, name)
		}
	}
	for _, k := range s.Keys {
		add(k.Collation)
	}
	for _, x := range s.Extremes {
		add(x.Collation)
	}
	return fmt.Sprintf("at most %d rows, by PostgreSQL's collation %s", finish.MostSorted, strings.Join(collations, ", "))
}

// errUnranked says that PostgreSQL did not sort: the collation may have another name by now.
var errUnranked = errors.New("PostgreSQL did not sort strings")

const reasonTooMany = "a result too large to be sorted here, by a collation that PostgreSQL knows"

// mostSortedBytes bounds what is held of a result until it can be sorted.
const mostSortedBytes = 32 << 20

// sliceSize is what a value takes beside its bytes while rows are sorted.
const sliceSize = 24
