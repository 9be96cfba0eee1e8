package finish

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
)

// Extreme is a column that min or max makes of strings under a collation which does not order by bytes. It comes as an array of a group's different
// strings in JSON, of which the client sees the one that PostgreSQL ranks first, or last, or NULL if there is none.
type Extreme struct {
	// Column is the index of the column in the result.
	Column int
	// Collation is the name of the collation, as SQL writes it.
	Collation string
	// Greatest asks for the last string.
	Greatest bool
}

// choose puts the extreme in the place of each row's array.
func (x Extreme) choose(rows [][][]byte, rank Rank) error {
	var all words
	groups := make([][]string, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row[x.Column], &groups[i]); err != nil {
			return fmt.Errorf("read the strings of a group: %w", err)
		}
		for _, s := range groups[i] {
			all.add(s)
		}
	}
	places, err := SortKey{Collation: x.Collation, Descending: x.Greatest}.places(all, rank)
	if err != nil {
		return err
	}
	for i, group := range groups {
		rows[i] = slices.Clone(rows[i]) // the caller's stay as they are
		rows[i][x.Column] = nil
		if len(group) > 0 {
			first := slices.MinFunc(group, func(a, b string) int { return cmp.Compare(places[all.known[a]], places[all.known[b]]) })
			rows[i][x.Column] = []byte(first)
		}
	}
	return nil
}
