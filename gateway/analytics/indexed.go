package analytics

import (
	"encoding/json"
	"slices"
	"strings"
)

const (
	// mostIndexedCost bounds the plans that PostgreSQL is the faster store for. A query on the replica takes 4 to 10 ms, however little it reads;
	// that is about what PostgreSQL needs for this cost, some 250 pages that are found one by one.
	mostIndexedCost = 1_000
	// mostIndexedRows is how many rows an index may lead to: the replica is better at reading more. And without statistics PostgreSQL's guess
	// at how many rows a range has is no better than that.
	mostIndexedRows = 1_000
	// mostUnequalCost bounds the cost of plans for tables that no equality joins: the replica would compare each row with each. Plans that
	// look up what lies between two values of the other table have no such bound: PostgreSQL's planner does not know how much that is, and
	// guesses a ninth of the index.
	mostUnequalCost = 100_000
	// rowsPerCost is how many rows the replica must have to read for each unit of a plan's cost where PostgreSQL looks up by an index what it joins to
	// some rows of a table that it reads from its beginning to its end. The replica reads and joins so many in 3 to 8 µs of CPU, PostgreSQL
	// needs 1 µs for the unit if what it reads is in memory. Reading a table costs PostgreSQL more than a unit for so many of its rows: it is the
	// larger one that is looked up in.
	rowsPerCost = 80
	// mostDrivenCost bounds such plans, which are of two tables: PostgreSQL's planner may take many rows for few, and its errors multiply by each join.
	mostDrivenCost = 20_000
	// mostSmallCost is that of reading a table from its beginning to its end in no time: 1,000 rows or 100 pages at most.
	mostSmallCost = 100
)

// planNode is a node of a plan as EXPLAIN (FORMAT JSON) prints it.
type planNode struct {
	Type         string  `json:"Node Type"`
	Relationship string  `json:"Parent Relationship"`
	Cost         float64 `json:"Total Cost"`
	Rows         float64 `json:"Plan Rows"`
	IndexCond    string  `json:"Index Cond"`
	Plans        []planNode
}

// isIndexed reports whether a plan of PostgreSQL's finds all that it reads by indexes, and so soon that the replica is no match for it. unequal says that
// the statement joins tables by conditions none of which is an equality, rows is how many the replica would read.
func isIndexed(explained []byte, unequal bool, rows float64) bool {
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(explained, &plans); err != nil || len(plans) != 1 {
		return false
	}
	root := &plans[0].Plan
	if indexes, ok := root.indexes(false); ok && indexes > 0 && root.Cost < mostIndexedCost && root.isShort() {
		return true
	}
	if !unequal {
		lookups, ok := root.drivenLookups()
		return ok && lookups == 1 && root.Cost < mostDrivenCost && root.Cost*rowsPerCost < rows
	}
	joins, ok := root.indexJoins(root.Cost < mostUnequalCost)
	return ok && joins > 0
}

// indexes counts the indexes that a plan is read from; ok says that it reads nothing else but what is small.
func (n *planNode) indexes(limited bool) (count int, ok bool) {
	switch n.Type {
	case "Index Scan", "Index Only Scan", "Bitmap Index Scan":
		if n.IndexCond == "" && !limited { // all of it
			return 0, false
		}
		count = 1
	case "Seq Scan":
		if n.Cost > mostSmallCost {
			return 0, false
		}
	case "Bitmap Heap Scan", "Tid Scan", "Tid Range Scan", "Values Scan", "Function Scan", "Subquery Scan", "CTE Scan", "WorkTable Scan":
	case "Limit":
		limited = true
	default:
		if strings.HasSuffix(n.Type, "Scan") {
			return 0, false
		}
	}
	for i := range n.Plans {
		below, ok := n.Plans[i].indexes(limited)
		if !ok {
			return 0, false
		}
		count += below
	}
	return count, true
}

// isShort reports whether no index leads to many rows, but where a limit ends its reading.
func (n *planNode) isShort() bool {
	if n.Type == "Limit" {
		return true
	}
	return (n.IndexCond == "" || n.Rows <= mostIndexedRows) && !slices.ContainsFunc(n.Plans, func(p planNode) bool { return !p.isShort() })
}

// indexJoins counts the nested loops that look up each of their rows by an index; ok says that there are none that read a table for each. Unless the
// plan costs little, they must look up what is equal, or lies between two values.
func (n *planNode) indexJoins(cheap bool) (count int, ok bool) {
	outer := 0.0
	for i := range n.Plans {
		p := &n.Plans[i]
		if p.Relationship == "Outer" {
			outer = p.Rows
		}
		if n.Type == "Nested Loop" && p.Relationship == "Inner" && outer > 1 {
			indexes, ok := p.indexes(false)
			if !ok || indexes == 0 || !cheap && !p.isNarrow() {
				return 0, false
			}
			count++
			continue
		}
		below, ok := p.indexJoins(cheap)
		if !ok {
			return 0, false
		}
		count += below
	}
	return count, true
}

// drivenLookups counts the nested loops that look up what is equal by an index, for each of few rows; ok says that the plan reads nothing else but
// whole tables, and that its cost is that of one process for all of it.
func (n *planNode) drivenLookups() (count int, ok bool) {
	switch n.Type {
	case "Index Scan", "Index Only Scan", "Bitmap Index Scan":
		if n.Rows > mostIndexedRows || !strings.Contains(n.IndexCond, " = ") {
			return 0, false
		}
	case "Seq Scan", "Bitmap Heap Scan", "Subquery Scan", "CTE Scan", "Values Scan":
	case "Nested Loop":
		if len(n.Plans) != 2 || n.Plans[0].Rows > mostIndexedRows {
			return 0, false
		}
		if indexes, ok := n.Plans[1].indexes(false); !ok || indexes == 0 {
			return 0, false
		}
		count = 1
	case "Limit", "Gather", "Gather Merge", "Hash Join", "Merge Join":
		return 0, false
	default:
		if strings.HasSuffix(n.Type, "Scan") {
			return 0, false
		}
	}
	for i := range n.Plans {
		below, ok := n.Plans[i].drivenLookups()
		if !ok || n.Plans[i].Relationship == "SubPlan" {
			return 0, false
		}
		count += below
	}
	return count, true
}

// isNarrow reports whether all that a plan reads of indexes is equal to something, or has bounds on both sides.
func (n *planNode) isNarrow() bool {
	has := func(operator string) bool { return strings.Contains(n.IndexCond, operator) }
	if n.IndexCond != "" && !has(" = ") && !((has(" > ") || has(" >= ")) && (has(" < ") || has(" <= "))) {
		return false
	}
	return !slices.ContainsFunc(n.Plans, func(p planNode) bool { return !p.isNarrow() })
}
