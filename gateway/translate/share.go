package translate

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// What conditions are expected to keep of the rows, where nothing is known of the values.
const (
	conditionShare  = 1.0 / 10
	inequalityShare = 1.0 / 3
)

// keeps is the share of the rows that a condition is expected to keep.
func (e expr) keeps() float64 {
	switch {
	case e.lenient:
		return 1
	case e.share > 0:
		return e.share
	}
	return conditionShare
}

// combinedShare is that of conditions which are independent of each other under AND, and exclude each other under OR.
func combinedShare(op pg.BoolExprType, parts []expr) float64 {
	all, some := 1.0, 0.0
	for _, p := range parts {
		all *= p.keeps()
		some += p.keeps()
	}
	if op == pg.BoolExprType_OR_EXPR {
		return min(1, some)
	}
	return all
}

// share guesses what part of its rows a part's own conditions leave: at least one row.
func (n *tree) share(conds []expr) float64 {
	share := 1.0
	if n.kept > 0 {
		share = n.kept
	}
	mask := n.mask()
	for _, c := range conds {
		if c.keys == nil && c.refs == mask {
			share *= c.keeps()
		}
	}
	if n.rows > 0 {
		share = max(share, 1/float64(n.rows))
	}
	return share
}

// fewRows is how many rows a set may have to be searched in next to no time, and a table to be searched for in next to no time.
const fewRows = 50_000

// isFew guesses whether conditions leave few rows of each table of a FROM clause. What is not a table, or one that nothing is known of, may have
// any number.
func (n *tree) isFew(conds []expr) bool {
	switch {
	case n == nil:
		return false
	case n.isLeaf():
		return n.rows > 0 && float64(n.rows)*n.share(conds) <= fewRows
	case n.kind != "":
		return n.left.isFew(conds) && n.right.isFew(n.conds)
	}
	all := slices.Concat(n.conds, conds)
	return !slices.ContainsFunc(n.parts, func(p *tree) bool { return !p.isFew(all) })
}
