package ch

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

//go:embed queries/*.sql batchdb/*.sql joingrpagg.sql
var sqlFiles embed.FS

// Query is one analytical statement, ready to run.
type Query struct {
	// Name is short and unique within its set: Q01…Q22, B02…B20, JoinGrpAgg.
	Name string
	// SQL has placeholders $1… where there are Args.
	SQL  string
	Args []any
	// Order lists the indexes of the result columns that ORDER BY sorts by; nil without ORDER BY.
	// Rows that tie in all of them may come in any order.
	Order []int
}

// Text returns the statement with its arguments written as literals, as a client without
// placeholders would send it.
func (q Query) Text() string {
	s := q.SQL
	for i := len(q.Args); i >= 1; i-- {
		s = strings.ReplaceAll(s, "$"+strconv.Itoa(i), literal(q.Args[i-1]))
	}
	return s
}

func literal(v any) string {
	switch v := v.(type) {
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case time.Time:
		return v.Format("'2006-01-02 15:04:05'")
	default:
		return fmt.Sprint(v)
	}
}

// orders holds, by query, the result columns that ORDER BY sorts by.
var orders = map[string][]int{
	"q01": {0}, "q02": {2, 1, 3}, "q03": {3, 4}, "q04": {0}, "q05": {1}, "q07": {0, 1, 2}, "q08": {0},
	"q09": {0, 1}, "q10": {2}, "q11": {1}, "q12": {0}, "q13": {1, 0}, "q15": {0}, "q16": {3},
	"q18": {5, 3}, "q20": {0}, "q21": {1, 0}, "q22": {0},
}

// Queries returns the 22 analytical queries of the CH-benCHmark, Q01 to Q22.
//
// They are the published ones, with two adaptations: table names are TPC-C's, and upper bounds of dates
// (2012 and 2020 in the original) lie in 2050, because rows carry the time at which they were made and
// the originals would by now select nothing.
func Queries() []Query {
	qs := make([]Query, 22)
	for i := range qs {
		file := fmt.Sprintf("q%02d", i+1)
		qs[i] = Query{Name: strings.ToUpper(file), SQL: read("queries/" + file), Order: orders[file]}
	}
	return qs
}

// BatchDBQueries returns the fourteen queries of BatchDB's appendix with parameters drawn from rng:
// scan, join and aggregate to one row.
func BatchDBQueries(rng *rand.Rand) []Query {
	region := regions[rng.IntN(len(regions))].name
	nation := func() string { return nations[rng.IntN(len(nations))].name }
	letter := func() string { return string(rune('a' + rng.IntN(26))) }
	one := func() string { return letter() + "%" }
	two := func() string { return letter() + letter() + "%" }
	date := time.Date(1993+rng.IntN(5), time.Month(1+rng.IntN(12)), 1, 0, 0, 0, 0, time.UTC)
	args := []struct {
		number int
		args   []any
	}{
		{2, []any{region, one()}},
		{3, []any{nation()}},
		{5, []any{region}},
		{7, []any{nation()}},
		{8, []any{region, nation(), one()}},
		{9, []any{two()}},
		{10, []any{date}},
		{11, []any{nation()}},
		{12, []any{date}},
		{14, []any{two(), date}},
		{16, []any{two()}},
		{17, []any{one(), rng.IntN(11)}},
		{19, []any{one(), rng.IntN(101)}},
		{20, []any{one(), nation()}},
	}
	qs := make([]Query, len(args))
	for i, a := range args {
		file := fmt.Sprintf("b%02d", a.number)
		qs[i] = Query{Name: strings.ToUpper(file), SQL: read("batchdb/" + file), Args: a.args}
	}
	return qs
}

// JoinGrpAgg returns HOAP's analytical query: the ten customers of a random state with the most orders.
func JoinGrpAgg(rng *rand.Rand) Query {
	return Query{
		Name: "JoinGrpAgg", SQL: read("joingrpagg"),
		Args: []any{randomString(rng, 2, 2)}, Order: []int{4, 0, 1, 2},
	}
}

func read(name string) string {
	b, err := sqlFiles.ReadFile(name + ".sql")
	if err != nil {
		panic(err) // the file is embedded in the binary
	}
	return strings.TrimSpace(string(b))
}
