package translate

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/freshet-io/freshet/connectors/cdc"
	"github.com/freshet-io/freshet/gateway/finish"
	"github.com/freshet-io/freshet/gateway/syntax"
)

// Translate turns the tree's single statement into a plan. The error is an [*Unsupported] when the statement has no
// proven translation in this environment.
func Translate(t *syntax.Tree, env Env) (plan *Plan, err error) {
	stmt := t.Query()
	if stmt == nil {
		return nil, unsupported("not a single query")
	}
	// The recursive translation leaves by panic(*Unsupported), which ends here. So does a defect of it: no statement may end the sessions of others, and
	// PostgreSQL answers this one.
	defer func() {
		if r := recover(); r != nil {
			u, ok := r.(*Unsupported)
			if !ok {
				u = &Unsupported{Reason: "a defect of the translation", Defect: fmt.Sprintf("%v\n%s", r, debug.Stack())}
			}
			plan, err = nil, u
		}
	}()
	tr := &translator{env: env, unsorted: len(stmt.SortClause) == 0 && !isGrouped(stmt), constants: map[string][]string{}, once: map[string]bool{}}
	tr.checkEnv()
	env.Dialect.checkStatement(stmt)
	plan = tr.plan(stmt)
	plan.Accesses = tr.accesses
	env.Dialect.checkRelations(plan.Relations)
	return plan, nil
}

// AsUnsupported finds an [*Unsupported] in an error.
func AsUnsupported(err error) (*Unsupported, bool) { return errors.AsType[*Unsupported](err) }

// translator holds what one translation collects.
type translator struct {
	env Env
	// sources are the tables read, one entry per occurrence in the statement.
	sources []source
	// leaves is the least number that the next relation of the engine's statement may have.
	leaves int
	// visible are the relations that conditions may name where the translation is: beside and around each other.
	visible uint64
	// eager says that nothing is to be computed later than PostgreSQL would.
	eager bool
	// unsorted says that the client sees rows in the order in which they come.
	unsorted bool
	// inside is the view whose query is being translated; nil: the statement itself is. as is the role as which it reads, see [Access].
	inside *View
	as     uint32
	// large says that a join fills a large table.
	large bool
	// unequal says that tables are joined by conditions none of which is an equality.
	unequal bool
	// searches says that a large set may be searched for each of many rows.
	searches bool
	// sort is what becomes of the client's rows, if the engine cannot sort them.
	sort *finish.Sort
	// outer says that there is an outer join, noElements an ANY over none.
	outer, noElements bool
	// constants are the columns, as the engine's SQL names them, of subqueries that yield constants there, which are as [outColumn].folded.
	constants map[string][]string
	// folded are values that PostgreSQL computes as it plans, and may refuse.
	folded []string
	// once are the columns of subqueries that are as [outColumn].once.
	once map[string]bool
	// levels counts the expressions around that which is being translated, and itself.
	levels int
	// failing counts the expressions up to now that may fail.
	failing int
	// picking counts the queries up to now that may yield other rows when they are computed again.
	picking int
	// lambdas counts the lists up to now of which a lambda has the elements.
	lambdas int
	// ties counts the columns up to now by which subqueries are tied that lie deeper.
	ties int
	// jsonKeys counts the keys that lead to parts of documents up to now.
	jsonKeys int
	// ordered are the labels of enumerations whose order the translation relies on.
	ordered map[uint32][]string
	// accesses are what was read up to now.
	accesses []Access
}

type source struct {
	table *cdc.Table
	used  map[int]bool
	// bound are the columns that a conjunct of a WHERE clause equates with a constant.
	bound map[int]bool
}

func (t *translator) checkEnv() {
	for i, s := range t.env.SearchPath {
		if s == "pg_catalog" && i > 0 {
			fail("search_path that puts schemas before pg_catalog")
		}
	}
}

// newLeaf numbers a relation of the engine's statement. No relation that conditions may name beside it has the same bit.
func (t *translator) newLeaf() int {
	if t.visible == math.MaxUint64 {
		fail("more than 64 relations beside and around each other")
	}
	for t.visible&bit(t.leaves) != 0 {
		t.leaves++
	}
	id := t.leaves
	t.leaves++
	t.visible |= bit(id)
	return id
}

// bit stands for a relation in a set of relations.
func bit(leaf int) uint64 { return 1 << (leaf % 64) }

func leafName(id int) string { return marker + "r" + strconv.Itoa(id) }

// maxLevels bounds how deep expressions are in one another. The engine reads up to a thousand levels, of which a function is one and the list of what it
// is called with is another. What an expression takes to be translated grows with the square of its levels.
const maxLevels = 500

// maxText bounds the engine's statement, in bytes, well below the engine's own limit.
const maxText = 150_000

// marker starts what is filled in last: names of relations (marker "r" number) and the
// text of tables (marker "[" number "]"). No string of PostgreSQL can hold it.
const marker = "\x00"

// scalar and scalarEnd stand around a subquery that is a value. The engine computes it first, as PostgreSQL does, but takes it for a constant then:
// a condition on it that turns out to be NULL spares it what PostgreSQL computes, and may refuse. Where something may fail the value is hidden.
const (
	scalar    = marker + "scalar("
	scalarEnd = marker + "scalar)"
)

// hide and hideEnd around a value keep the engine from knowing it before it runs: its analysis of indexes sees through materialize alone,
// that of conditions through identity alone.
const (
	hide    = "identity(materialize("
	hideEnd = "))"
)

// writeScalars replaces what stands around values of subqueries, which may be hidden.
func writeScalars(sql string, hidden bool) string {
	opening, closing := "(", ")"
	if hidden {
		opening, closing = hide, hideEnd
	}
	return strings.NewReplacer(scalar, opening, scalarEnd, closing).Replace(sql)
}

// subselect begins a query within an expression. What is in quotes of a statement cannot look like it.
const subselect = marker + "(SELECT "

// selecting writes a query within an expression. Its rows are not those of the expression, so that no CASE around it says which are computed.
func selecting(rest string) string { return subselect + settled(rest) }

func placeholder(source int) string { return marker + "[" + strconv.Itoa(source) + "]" }

func (t *translator) plan(s *pg.SelectStmt) *Plan {
	p := &Plan{Settings: maps.Clone(settings), Ordered: len(s.SortClause) > 0}
	text := t.output(p, s)
	p.Unequal = t.unequal
	if t.outer && t.noElements {
		// PostgreSQL 18 plans as if that were never true of NULLs (is_strict_saop in its clauses.c), and may make an inner join of the outer one.
		fail("ANY over no elements beside an outer join")
	}
	text = strings.ReplaceAll(writeScalars(writeMarked(text), t.failing > 0), subselect, "(SELECT ")
	p.Sort = t.sort
	if t.eager {
		maps.Copy(p.Settings, eager)
	}
	if t.failing > 0 {
		maps.Copy(p.Settings, failing)
	}
	if t.searches {
		p.Settings["allow_reorder_prewhere_conditions"] = "0"
	}
	if t.large {
		p.Settings["join_algorithm"] = "direct,parallel_hash,hash"
	}
	if len(text) > maxText {
		fail("statement of so many computations")
	}
	numbers := map[int]int{} // sources that made it into the SQL
	p.PointRead = true
	for part := range strings.SplitSeq(text, marker+"[") {
		part = strings.ReplaceAll(part, marker, "_")
		if len(p.text) > 0 {
			number, rest, _ := strings.Cut(part, "]")
			i, err := strconv.Atoi(number)
			if err != nil {
				fail("a relation that is not numbered")
			}
			if _, ok := numbers[i]; !ok {
				numbers[i] = len(p.Relations)
				p.Relations = append(p.Relations, t.sources[i].relation())
				p.PointRead = p.PointRead && t.sources[i].isPoint()
			}
			p.refs = append(p.refs, numbers[i])
			part = rest
		}
		p.text = append(p.text, part)
	}
	if len(p.Relations) == 0 {
		fail("reads no table")
	}
	t.requireOrders(p.Relations)
	return p
}

// isPoint reports whether the whole key is bound.
func (s source) isPoint() bool {
	return !slices.ContainsFunc(s.table.Key, func(k int) bool { return !s.bound[k] })
}

// relation lists the columns read. A relation that is only counted reads its key.
func (s source) relation() Relation {
	columns := slices.Sorted(maps.Keys(s.used))
	if len(columns) == 0 {
		columns = []int{s.table.Key[0]}
	}
	return Relation{Table: s.table, Columns: columns}
}

// eager keeps the engine from sorting, skipping and cutting off rows before it computes what comes of them.
var eager = map[string]string{
	"query_plan_execute_functions_after_sorting": "0",
	"query_plan_optimize_lazy_materialization":   "0",
	"query_plan_top_k_through_join":              "0",
	"use_top_k_dynamic_filtering":                "0",
	"query_plan_push_down_limit":                 "0",
	"use_skip_indexes_for_top_k":                 "0",
}

// failing keeps the engine from computing less than PostgreSQL does, where that may fail.
var failing = map[string]string{
	// PostgreSQL makes inner joins of fewer outer ones, and computes more for the rows that these add.
	"query_plan_convert_outer_join_to_inner_join": "0",
}

// settings fix the meaning of the SQL that is written here.
var settings = map[string]string{
	// The client library does not decode sparse and replicated columns.
	"allow_special_serialization_kinds_in_output_formats": "0",
	// Joins are ordered here; the engine's own reordering joins by low-cardinality keys first. Of each join it may choose the side that
	// it fills a table of, by the rows that it estimates.
	"query_plan_optimize_join_order_limit": "1",
	// So are filters passed on to large tables. The engine's own ask a Bloom filter of every join, however many rows it keeps: on
	// most of the CH-benCHmark's queries that costs a tenth to a third, and helps none once the joins are ordered by what they keep.
	"enable_join_runtime_filters": "0",
	// The engine takes conditions in the order of their columns' sizes on disk. What hides dead rows, and keeps almost all, is then behind most
	// of what a statement asks. But so is a comparison behind the search of a large set, as the columns of a key are small: where there
	// may be one, the order is that in which conditions are written, that of their effort.
	"allow_reorder_prewhere_conditions": "1",
	// Under a window function 26.7 loses track of the column that it rewrites to a subcolumn.
	"optimize_functions_to_subcolumns":    "0",
	"join_use_nulls":                      "1",
	"aggregate_functions_null_for_empty":  "0",
	"cast_keep_nullable":                  "1",
	"transform_null_in":                   "0",
	"group_by_use_nulls":                  "1",
	"any_join_distinct_right_table_keys":  "0",
	"decimal_check_overflow":              "1",
	"least_greatest_legacy_null_behavior": "0",
	"prefer_column_name_to_alias":         "0",
	"enable_positional_arguments":         "0",
	"short_circuit_function_evaluation":   "enable",
	// What decides which rows are there must be beyond doubt. The cache of conditions has made queries lose rows in several ways
	// (ClickHouse/ClickHouse#119823, #114827, #111897), and joins that spill are new. A range that 26.7 finds to be empty (x >= 50 AND x <= 7)
	// it drops from the ON of an inner or semi join by a nullable key, which then keeps what the range excludes.
	"optimize_redundant_comparisons": "0",
	// 26.7 takes rows for sorted that come out of a join in the order of its threads.
	"query_plan_read_in_order_through_join": "0",
	// Where the condition is NULL, it loses the ELSE value of min(CASE WHEN … THEN NULL ELSE x END).
	"optimize_rewrite_aggregate_function_with_if": "0",
	// It takes a constant factor out of sum(), and fails where the factor turns out to be NULL.
	"optimize_arithmetic_operations_in_aggregate_functions": "0",
	// The least key of a group is the key; a condition on it would then be asked before rows are grouped, and might fail for a row that
	// another leaves out. Looking for such aggregates takes a fifth of the time in which a statement with a hundred of them is analysed.
	"optimize_aggregators_of_group_by_keys": "0",
	"use_query_condition_cache":             "0",
	"max_bytes_ratio_before_external_join":  "0",
}
