package translate

import (
	"slices"
	"strconv"
	"strings"
)

// computedName starts the names of values that a table's subquery computes.
const computedName = marker + "computed"

// atLeaf has a value that reads one table computed where that table is read, rather than for each row of the join: a
// table that hangs off a larger one has fewer rows than the join. It only does so for tables that are joined
// by inner joins: a NULL-extended row would have the value of its NULLs otherwise.
func (q *query) atLeaf(e expr) expr {
	if e.lit != nil || e.source != 0 || e.opaque || e.oid == oidNumeric && e.dec.display < 0 {
		return e
	}
	leaf := q.smallLeaf(e.refs)
	if leaf == nil {
		return e
	}
	return leaf.compute(e)
}

// compute has the relation's subquery compute a value of its columns.
func (n *tree) compute(e expr) expr {
	i := slices.Index(n.computed, e.sql)
	if i < 0 {
		i = len(n.computed)
		n.computed = append(n.computed, e.sql)
	}
	e = e.plain()
	e.sql, e.ratio = leafName(n.id)+"."+computedColumn(n.id, i), nil
	return e
}

func computedColumn(leaf, i int) string {
	return computedName + strconv.Itoa(leaf) + "_" + strconv.Itoa(i)
}

// smallLeaf returns the table that is all that refs names, if the query joins it to a larger one.
func (q *query) smallLeaf(refs uint64) *tree {
	if q.from == nil || q.from.kind != "" || len(q.from.parts) < 2 {
		return nil
	}
	var leaf *tree
	largest := int64(0)
	for _, p := range q.from.parts {
		if p.isLeaf() && p.source != 0 && refs == bit(p.id) {
			leaf = p
		}
		largest = max(largest, p.rows)
	}
	if leaf == nil || leaf.rows >= largest {
		return nil
	}
	return leaf
}

// probe has what reads one relation below an outer join, and may fail, computed for all of its rows: PostgreSQL asks conditions before the
// join where it takes it for an inner one.
func (n *tree) probe(asked []expr) {
	if n.kind == "" {
		for _, p := range n.parts {
			p.probe(asked)
		}
		return
	}
	n.walk(func(leaf *tree) {
		for _, e := range asked {
			if leaf.isLeaf() && e.fails && e.refs == bit(leaf.id) && !slices.Contains(leaf.probed, e.sql) {
				leaf.probed = append(leaf.probed, e.sql)
			}
		}
	})
}

// askEach has values computed for all rows of the relations that they are of.
func (n *tree) askEach(values []expr) {
	for _, e := range values {
		leaf := n.keeping(e.refs)
		if leaf == nil {
			fail("aggregates that may fail of what is no column of one relation that every row has")
		}
		leaf.probed = append(leaf.probed, e.sql)
	}
}

// withComputed is a relation with what is computed of its rows.
func (n *tree) withComputed(relation string) string {
	for i, u := range n.unnested {
		relation = n.withElements(relation, u, elementName(n.id, i))
	}
	if len(n.computed) == 0 && len(n.probed) == 0 {
		return relation
	}
	var b strings.Builder
	b.WriteString("(SELECT *")
	for i, sql := range n.computed {
		b.WriteString(", " + sql + " AS " + computedColumn(n.id, i))
	}
	b.WriteString(" FROM " + relation + " AS " + leafName(n.id))
	if len(n.probed) > 0 {
		b.WriteString(" WHERE NOT ignore(" + strings.Join(n.probed, ", ") + ")")
	}
	return b.String() + ")"
}

// withElements is a relation with a row for each element of a value of its rows.
func (n *tree) withElements(relation string, u *unnested, element string) string {
	columns := leafName(n.id) + ".*, " + element // which * may show or not
	if u.numbered {
		columns += ", " + elementNumber(element)
	}
	return "(SELECT " + columns + " FROM " + relation + " AS " + leafName(n.id) + u.arrayJoin(element) + ")"
}
