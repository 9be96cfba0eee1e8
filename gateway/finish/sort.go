package finish

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// Sort puts the rows of a result in an order that only PostgreSQL knows: that of strings under a collation which does not order by bytes. PostgreSQL
// is asked to rank the strings; the engine has ranked all else. It takes the extremes of such strings, too.
//
// Invariant: a sorted result is one that PostgreSQL may give for ORDER BY, OFFSET and LIMIT.
type Sort struct {
	// Keys are what is sorted by, the first one first. Each has a column after those of the result, in the same order.
	Keys []SortKey
	// Offset rows are left out, and what comes after Limit rows more, if Limited. Ties keeps those too that are equal to the last one kept.
	Offset, Limit uint64
	Limited, Ties bool
	// Extremes are the columns of the result that min and max make of such strings.
	Extremes []Extreme
}

// SortKey is a part of what rows are sorted by.
type SortKey struct {
	// Collation is the name, as SQL writes it, of the collation by which the column's strings are sorted. Empty: the column has ranks already,
	// with direction and NULLs heeded.
	Collation              string
	Descending, NullsFirst bool
}

// MostSorted is how many rows a Sort takes, and how many different strings. The engine is to yield no more than one beyond them.
const MostSorted = 20_000

// mostRanked is how many bytes of strings PostgreSQL is asked to rank at once.
const mostRanked = 4 << 20

// ErrTooMany says that there are more rows, or longer strings, than are sorted here: PostgreSQL is to answer.
var ErrTooMany = errors.New("too many rows to sort by a collation of PostgreSQL's")

// Columns are those that the engine yields after the result's.
func (s *Sort) Columns() []Column {
	columns := make([]Column, len(s.Keys))
	for i, k := range s.Keys {
		columns[i] = Column{Name: "key " + strconv.Itoa(i+1), Kind: Int64}
		if k.Collation != "" {
			columns[i].Kind = String
		}
	}
	return columns
}

// Rank sorts strings, which are all different, by a collation. It returns their indexes in that order.
type Rank func(collation string, strings []string) ([]int, error)

// Rows returns the rows in order, without those to be left out and without the keys' columns, which are in text form. It leaves rows as they are.
func (s *Sort) Rows(rows [][][]byte, rank Rank) ([][][]byte, error) {
	if len(rows) > MostSorted {
		return nil, ErrTooMany
	}
	if len(rows) == 0 {
		return nil, nil
	}
	width := len(rows[0]) - len(s.Keys)
	keys := make([][]int64, len(rows))
	for i := range keys {
		keys[i] = make([]int64, len(s.Keys))
	}
	for k, key := range s.Keys {
		if err := key.order(rows, width+k, rank, func(i int, order int64) { keys[i][k] = order }); err != nil {
			return nil, err
		}
	}
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return slices.Compare(keys[a], keys[b]) })
	from, to := s.cut(order, keys)
	sorted := make([][][]byte, 0, to-from)
	for _, i := range order[from:to] {
		sorted = append(sorted, rows[i][:width:width])
	}
	for _, x := range s.Extremes {
		if err := x.choose(sorted, rank); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// cut returns the first row that is kept and the first after it that is not.
func (s *Sort) cut(order []int, keys [][]int64) (from, to int) {
	n := uint64(len(order))
	from, to = int(min(s.Offset, n)), int(n)
	if !s.Limited {
		return from, to
	}
	to = from + int(min(s.Limit, n-uint64(from)))
	for s.Ties && to > from && to < len(order) && slices.Equal(keys[order[to]], keys[order[to-1]]) {
		to++
	}
	return from, to
}

// order tells of every row where its value stands among the key's.
func (k SortKey) order(rows [][][]byte, column int, rank Rank, tell func(row int, order int64)) error {
	if k.Collation == "" {
		for i, row := range rows {
			n, err := strconv.ParseInt(string(row[column]), 10, 64)
			if err != nil {
				return fmt.Errorf("read the rank of a row: %w", err)
			}
			tell(i, n)
		}
		return nil
	}
	var w words
	for _, row := range rows {
		if v := row[column]; v != nil {
			w.add(string(v))
		}
	}
	places, err := k.places(w, rank)
	if err != nil {
		return err
	}
	null := int64(len(places))
	if k.NullsFirst {
		null = -1
	}
	for i, row := range rows {
		place := null
		if v := row[column]; v != nil {
			place = places[w.known[string(v)]]
		}
		tell(i, place)
	}
	return nil
}

// words are strings that are all different.
type words struct {
	values []string
	known  map[string]int // their indexes
	size   int            // in bytes
}

func (w *words) add(s string) {
	if _, ok := w.known[s]; ok {
		return
	}
	if w.known == nil {
		w.known = map[string]int{}
	}
	w.known[s] = len(w.values)
	w.values = append(w.values, s)
	w.size += len(s)
}

// places returns where each of the words stands, in the key's direction.
func (k SortKey) places(w words, rank Rank) ([]int64, error) {
	values := w.values
	if w.size > mostRanked || len(values) > MostSorted {
		return nil, ErrTooMany
	}
	places := make([]int64, len(values))
	if len(values) < 2 {
		return places, nil
	}
	sorted, err := rank(k.Collation, values)
	if err != nil {
		return nil, err
	}
	if len(sorted) != len(values) {
		return nil, fmt.Errorf("rank %d strings by collation %s: PostgreSQL ranked %d", len(values), k.Collation, len(sorted))
	}
	for place, i := range sorted {
		if i < 0 || i >= len(values) {
			return nil, fmt.Errorf("rank %d strings by collation %s: PostgreSQL tells of string %d", len(values), k.Collation, i)
		}
		if k.Descending {
			place = len(values) - 1 - place
		}
		places[i] = int64(place)
	}
	return places, nil
}
