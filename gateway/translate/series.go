package translate

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"github.com/freshet-io/freshet/gateway/syntax"
)

const (
	// mostNumbers bounds a series, mostMoments one of months and the like, whose values the statement spells out.
	mostNumbers = 1_000_000
	mostMoments = 4000
	// usualSeries is how many values are expected of a series that the engine computes.
	usualSeries = 1000
)

// rangeFunction translates generate_series, the calendars of reports, and unnest of a constant array.
func (q *query) rangeFunction(f *pg.RangeFunction) (*tree, namespace) {
	if f.IsRowsfrom || len(f.Functions) != 1 || len(f.Coldeflist) > 0 {
		fail("functions in FROM")
	}
	call := f.Functions[0].GetList().GetItems()[0].GetFuncCall()
	name := syntax.FunctionName(call)
	if f.Alias != nil {
		name = f.Alias.Aliasname // of the only column, too
	}
	var values *rows
	var count int64
	switch syntax.FunctionName(call) {
	case "generate_series":
		values, count = q.seriesRows(call, f.Ordinality)
		values.columns[0].name = name
	case "unnest":
		if len(call.Args) > 1 {
			return q.spelledTable(f)
		}
		values, count = q.constantElements(call, f.Ordinality)
		values.columns[0].name = name
	default:
		fail("function in FROM")
	}
	if f.Ordinality {
		values.columns = append(values.columns, outColumn{name: "ordinality", e: expr{oid: oidInt8, sql: "c2", pad: -1}})
	}
	leaf, names := q.subselect(values, nil, name)
	rename(names.items[0], f.Alias)
	leaf.rows = count
	return leaf, names
}

// series are constants, in PostgreSQL's type for them.
type series struct {
	e     expr // describes them
	first *big.Int
	step  *big.Int // nil: they are not equally far from each other
	count int64
	all   []*big.Int // if step is nil
}

// sql selects the values, and their numbers if they are asked for.
func (s series) sql(numbered bool) string {
	if s.step != nil {
		number := ""
		if numbered {
			number = ", toInt64(number + 1) AS c2"
		}
		return fmt.Sprintf("SELECT %s(toInt64(%s) + toInt64(%s) * toInt64(number)) AS c1%s FROM numbers(%d)", s.e.engineConversion(), s.first, s.step, number, s.count)
	}
	texts := make([]string, len(s.all))
	for i, v := range s.all {
		texts[i] = v.String()
	}
	return selectElements("CAST(["+strings.Join(texts, ", ")+"], 'Array("+s.e.engineType()+")')", numbered)
}

// seriesRows are the rows of a generate_series, and about how many there are.
func (q *query) seriesRows(f *pg.FuncCall, numbered bool) (*rows, int64) {
	args := q.seriesArguments(f)
	if slices.ContainsFunc(args, func(e expr) bool { return e.lit == nil }) {
		list, oid := q.seriesBetween(args)
		picking := slices.ContainsFunc(f.Args, func(n *pg.Node) bool {
			return contains(n, func(m *pg.Node) bool { return m.GetSelectStmt() != nil && picks(m.GetSelectStmt()) })
		})
		return &rows{sql: selectElements(list, numbered), columns: []outColumn{{e: expr{oid: oid, sql: "c1", pad: -1}}}, repeats: !picking}, usualSeries
	}
	s := q.integerSeries
	if isMoment(args[0].oid) || isMoment(args[1].oid) {
		s = q.momentSeries
	}
	values := s(args)
	return &rows{sql: values.sql(numbered), columns: []outColumn{{e: values.e}}, repeats: true}, values.count
}

func (q *query) seriesArguments(f *pg.FuncCall) []expr {
	if len(f.Args) < 2 || len(f.Args) > 3 {
		fail("generate_series with so many arguments")
	}
	args := q.valuesOf(f.Args)
	if slices.ContainsFunc(args, expr.isNull) {
		fail("generate_series between what is NULL")
	}
	return args
}

func (q *query) integerSeries(args []expr) series {
	oid, step := integersBetween(args)
	first, last := args[0].lit.integer, args[1].lit.integer
	return series{e: expr{oid: oid, sql: "c1", pad: -1}, first: first, step: step, count: stepsTo(first, last, step)}
}

// stepsTo is how many values there are from first to last.
func stepsTo(first, last, step *big.Int) int64 {
	way := new(big.Int).Sub(last, first)
	if way.Sign() != 0 && way.Sign() != step.Sign() {
		return 0
	}
	count := way.Quo(way, step)
	if !count.IsInt64() || count.Int64() >= mostNumbers {
		fail("generate_series of more than %d values", mostNumbers)
	}
	return count.Int64() + 1
}

// momentSeries adds the step again and again, as PostgreSQL does: months later the day may be another.
func (q *query) momentSeries(args []expr) series {
	if len(args) != 3 {
		fail("generate_series of moments without a step")
	}
	oid := seriesType(args[0].oid, args[1].oid)
	at, last := q.coerce(args[0], oid), q.coerce(args[1], oid)
	if at.lit == nil || last.lit == nil {
		fail("generate_series of moments of this form")
	}
	step := intervalLiteral(q.seriesStep(args[2]))
	ahead := signOf(*step.lit.interval)
	s := series{e: expr{oid: oid, sql: "c1", pad: -1}, first: at.lit.integer}
	for at.lit.integer.Cmp(last.lit.integer) != ahead {
		if len(s.all) == mostMoments {
			fail("generate_series of more than %d moments", mostMoments)
		}
		s.all = append(s.all, at.lit.integer)
		at = q.addInterval("+", at, step)
	}
	s.count, s.step = int64(len(s.all)), equalStep(s.all)
	return s
}

// seriesStep is the constant step of a series of moments.
func (q *query) seriesStep(e expr) interval {
	if e.isUnknown() {
		e = q.t.parseLiteral(*e.lit.text, oidInterval)
	}
	step, ok := e.constantInterval()
	if !ok {
		fail("generate_series of moments by this step")
	}
	return step
}

// equalStep is the distance between any two neighbours, or nil.
func equalStep(values []*big.Int) *big.Int {
	step := new(big.Int)
	for i := 1; i < len(values); i++ {
		way := new(big.Int).Sub(values[i], values[i-1])
		if i > 1 && way.Cmp(step) != 0 {
			return nil
		}
		step = way
	}
	return step
}

// seriesType is the type of the version of generate_series that PostgreSQL chooses.
func seriesType(first, last uint32) uint32 {
	if first == oidTimestamp && last != oidTimestampTZ || last == oidTimestamp && first != oidTimestampTZ {
		return oidTimestamp
	}
	return oidTimestampTZ
}

// signOf is the direction of an interval whose parts agree.
func signOf(i interval) int {
	sign := 0
	for _, part := range []int64{i.months, i.days, i.micros} {
		s := cmp.Compare(part, 0)
		if s*sign < 0 {
			fail("generate_series by a step in both directions")
		}
		if s != 0 {
			sign = s
		}
	}
	if sign == 0 {
		fail("step of zero")
	}
	return sign
}

// seriesFrom moves the generate_series of a SELECT without FROM there: SELECT f(generate_series(…)). So it does with unnest.
func seriesFrom(s *pg.SelectStmt) *pg.SelectStmt {
	if len(s.FromClause) > 0 || s.WhereClause != nil || isGrouped(s) {
		return s
	}
	moved := setOf("generate_series unnest")
	if len(callsOf(s.TargetList, moved)) != 1 {
		return s
	}
	s = proto.CloneOf(s)
	n := callsOf(s.TargetList, moved)[0]
	name := syntax.FunctionName(n.GetFuncCall())
	function := pg.MakeListNode([]*pg.Node{{Node: n.Node}})
	s.FromClause = []*pg.Node{{Node: &pg.Node_RangeFunction{RangeFunction: &pg.RangeFunction{Functions: []*pg.Node{function}}}}}
	n.Node = &pg.Node_ColumnRef{ColumnRef: &pg.ColumnRef{Fields: []*pg.Node{pg.MakeStrNode(name)}}}
	return s
}

// callsOf finds the calls of some functions in a list of expressions, not in their subqueries.
func callsOf(list []*pg.Node, names map[string]bool) []*pg.Node {
	var found []*pg.Node
	syntax.WalkAll(list, func(n *pg.Node) bool {
		if f := n.GetFuncCall(); f != nil && names[syntax.FunctionName(f)] {
			found = append(found, n)
		}
		return n.GetSelectStmt() == nil
	})
	return found
}
