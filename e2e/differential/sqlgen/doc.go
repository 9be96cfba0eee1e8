// Package sqlgen makes random worlds (schemas with data) and random, valid PostgreSQL
// queries over them.
//
// Invariant: a generated query has one right answer. Its result does not depend on the plan:
// LIMIT and positional window functions come with a total order, values that are equal but
// print differently (numerics of varying scale, floats) are kept out of DISTINCT, grouping,
// set operations and sort keys, and subqueries used as values return at most one row. Hence two
// engines that disagree differ for a reason. A query may fail (division by zero, overflow), rarely
// and on purpose.
//
// Everything is a function of the seed.
package sqlgen
