package translate

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/freshet-io/freshet/gateway/syntax"
)

// mostSets bounds how often GROUPING SETS, ROLLUP and CUBE have the rows read.
const mostSets = 16

// groupingSets returns the sets of items that a GROUP BY clause means: one unless it has GROUPING SETS, ROLLUP or CUBE, whose elements are
// combined with each other and with the other items as SQL:2016 says (7.13, <group by clause>).
func groupingSets(items []*pg.Node) [][]*pg.Node {
	sets := [][]*pg.Node{nil}
	for _, item := range items {
		var combined [][]*pg.Node
		for _, left := range sets {
			for _, right := range elementSets(item) {
				combined = append(combined, slices.Concat(left, right))
			}
		}
		if sets = combined; len(sets) > mostSets {
			fail("more than %d grouping sets", mostSets)
		}
	}
	return sets
}

func elementSets(n *pg.Node) [][]*pg.Node {
	g := n.GetGroupingSet()
	if g == nil {
		return [][]*pg.Node{columnsOf(n)}
	}
	var sets [][]*pg.Node
	switch g.Kind {
	case pg.GroupingSetKind_GROUPING_SET_EMPTY:
		return [][]*pg.Node{nil}
	case pg.GroupingSetKind_GROUPING_SET_ROLLUP:
		for n := len(g.Content); n >= 0; n-- {
			sets = append(sets, allColumnsOf(g.Content[:n]))
		}
	case pg.GroupingSetKind_GROUPING_SET_CUBE:
		if len(g.Content) > 4 {
			fail("more than %d grouping sets", mostSets)
		}
		for chosen := 1<<len(g.Content) - 1; chosen >= 0; chosen-- {
			var set []*pg.Node
			for i, element := range g.Content {
				if chosen>>i&1 == 1 {
					set = append(set, columnsOf(element)...)
				}
			}
			sets = append(sets, set)
		}
	case pg.GroupingSetKind_GROUPING_SET_SETS:
		for _, element := range g.Content {
			sets = append(sets, elementSets(element)...)
		}
	default:
		fail("GROUPING SETS of an unknown kind")
	}
	return sets
}

func allColumnsOf(elements []*pg.Node) []*pg.Node {
	var all []*pg.Node
	for _, n := range elements {
		all = append(all, columnsOf(n)...)
	}
	return all
}

// columnsOf takes (a, b) apart, which is two items here.
func columnsOf(n *pg.Node) []*pg.Node {
	if row := n.GetRowExpr(); row != nil && row.RowFormat == pg.CoercionForm_COERCE_IMPLICIT_CAST {
		return row.Args
	}
	return []*pg.Node{n}
}

// groupBy sets the keys of a group, and which of them each grouping set has.
func (q *query) groupBy(g *group, items []*pg.Node, targets []target) {
	sets := groupingSets(items)
	g.grouped = true
	for _, set := range sets {
		keys := uint64(0)
		for _, n := range set {
			n = groupTarget(n, targets, q.scope)
			if i := g.subqueryKey(n); i >= 0 {
				keys |= 1 << i
				continue
			}
			key := readNumeric(q.value(n))
			distinguishable(key)
			if len(sets) > 1 {
				requireAlike(key)
			}
			if key.lit != nil {
				if len(sets) > 1 {
					fail("GROUP BY of a constant")
				}
				continue // it tells no rows apart
			}
			if len(sets) > 1 {
				q.requireOtherKeys(g, key, n)
			}
			i := g.keyIndex(key)
			if i < 0 {
				i = len(g.keys)
				g.keys, g.nodes = append(g.keys, key), append(g.nodes, n)
			}
			if len(sets) > 1 && i >= 64 {
				fail("grouping sets over more than 64 keys")
			}
			keys |= 1 << i
		}
		if keys == 0 && len(set) > 0 {
			fail("GROUP BY of a constant")
		}
		g.grouped = g.grouped && keys != 0
		g.sets = append(g.sets, keys)
	}
	if len(sets) == 1 {
		g.sets = nil
		return
	}
	if q.t.picking > q.picking {
		fail("GROUPING SETS over rows that a query picks") // for each set anew
	}
	for i := range g.keys {
		if slices.ContainsFunc(g.sets, func(keys uint64) bool { return keys>>i&1 == 0 }) {
			if g.keys[i].refs == 0 {
				// PostgreSQL 18 computes expressions over such a key from its value even where the set lacks it, but not the key itself.
				fail("GROUPING SETS over an expression without columns")
			}
			if contains(g.nodes[i], decidesByConstants) {
				fail("GROUPING SETS over an expression that may be a constant")
			}
			// It is NULL in the groups of that set, and no column of a table any more.
			g.keys[i] = g.keys[i].plain()
			g.keys[i].null = true
		}
	}
}

// requireOtherKeys refuses a key of grouping sets that is computed like another one: to PostgreSQL they are two, and a set may have one of them only.
// Where they differ in the type or the collation alone, PostgreSQL 18 may sort by the wrong one.
func (q *query) requireOtherKeys(g *group, key expr, n *pg.Node) {
	for i, k := range g.keys {
		if k.sql == key.sql && !q.sameKey(g.nodes[i], n) {
			fail("grouping sets over keys that are computed alike")
		}
	}
}

// decidesByConstants reports whether PostgreSQL may find while it plans which value an expression has for all rows: such a key is one without columns
// to it.
func decidesByConstants(n *pg.Node) bool {
	var deciding []*pg.Node
	switch v := n.Node.(type) {
	case *pg.Node_CaseExpr:
		if v.CaseExpr.Arg != nil {
			deciding = []*pg.Node{v.CaseExpr.Arg}
			break
		}
		for _, w := range v.CaseExpr.Args {
			deciding = append(deciding, w.GetCaseWhen().Expr)
		}
	case *pg.Node_CoalesceExpr:
		deciding = v.CoalesceExpr.Args[:1]
	case *pg.Node_BoolExpr:
		deciding = v.BoolExpr.Args
	case *pg.Node_AConst:
		return v.AConst.Isnull // NULL makes NULL of most that it is part of
	}
	return slices.ContainsFunc(deciding, func(d *pg.Node) bool {
		return !contains(d, func(m *pg.Node) bool { return m.GetColumnRef() != nil })
	})
}

// sameKey reports whether PostgreSQL takes two expressions for the same; false where that is not known.
func (q *query) sameKey(a, b *pg.Node) bool {
	if x, y := a.GetColumnRef(), b.GetColumnRef(); x != nil && y != nil {
		c := q.scope.resolve(syntax.Strings(x.Fields))
		return c != nil && c == q.scope.resolve(syntax.Strings(y.Fields))
	}
	return a == b || proto.Equal(unlocated(a), unlocated(b))
}

// unlocated copies an expression without its places in the query's text.
func unlocated(n *pg.Node) *pg.Node {
	n = proto.CloneOf(n)
	clearLocations(n.ProtoReflect())
	return n
}

func clearLocations(m protoreflect.Message) {
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case field.Name() == "location":
			m.Clear(field)
		case field.Kind() != protoreflect.MessageKind:
		case field.IsList():
			for i := range v.List().Len() {
				clearLocations(v.List().Get(i).Message())
			}
		default:
			clearLocations(v.Message())
		}
		return true
	})
}

// setColumn is the column of a group's rows that has the keys of their grouping set, as bits.
const setColumn = "gs"

// setsText writes an aggregation for each grouping set.
func (q *query) setsText() string {
	g := q.group
	arms := make([]string, len(g.sets))
	for i, set := range g.sets {
		const arm = "_s"
		var keys, items []string
		for j, k := range g.keys {
			value := "NULL"
			if set>>j&1 == 1 {
				keys = append(keys, groupable(k))
				value = arm + ".k" + strconv.Itoa(len(keys))
			}
			items = append(items, value+" AS k"+strconv.Itoa(j+1))
		}
		for j := range g.aggs {
			name := "a" + strconv.Itoa(j+1)
			items = append(items, arm+"."+name+" AS "+name)
		}
		items = append(items, "toUInt64("+strconv.FormatUint(set, 10)+") AS "+setColumn)
		arms[i] = "SELECT " + strings.Join(items, ", ") + " FROM (" + q.aggregationText(keys) + ") AS " + arm
	}
	return strings.Join(arms, " UNION ALL ")
}

// grouping translates GROUPING(…): a bit for each argument, the last one the lowest, set where it is not among the keys of the row's set.
func (q *query) grouping(f *pg.GroupingFunc) expr {
	if !q.grouped {
		fail("GROUPING without groups")
	}
	if len(f.Args) > 31 {
		fail("GROUPING of more than 31 arguments")
	}
	g := q.group
	terms := make([]string, len(f.Args))
	for i, n := range f.Args {
		e, ok := q.tryUngrouped(n)
		if !ok {
			fail("argument of GROUPING")
		}
		key := g.keyIndex(e)
		if key < 0 {
			fail("argument of GROUPING that is not grouped by")
		}
		terms[i] = "0"
		if len(g.sets) > 0 {
			terms[i] = "bitShiftLeft(toInt32(NOT bitTest(" + leafName(g.id) + "." + setColumn + ", " + strconv.Itoa(key) + ")), " + strconv.Itoa(len(f.Args)-1-i) + ")"
		}
	}
	out := expr{sql: "toInt32(" + strings.Join(terms, " + ") + ")", oid: oidInt4, pad: -1, bounded: true, high: 1<<len(f.Args) - 1}
	if len(g.sets) > 0 {
		out.refs = bit(g.id)
	}
	return out
}
