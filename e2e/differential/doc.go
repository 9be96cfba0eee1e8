// Package differential compares the columnar route with PostgreSQL on random queries.
//
// A run makes worlds of random tables with package sqlgen, loads each into PostgreSQL and into the
// columnar engine, and gives every generated query to both. What it demands is invariant 4 of the
// design: an answer of the columnar route equals PostgreSQL's in column names, types, every
// value as exact text, and the order of rows as far as the query fixes it; a query that PostgreSQL refuses is
// not answered. Refusing to answer is always right for the columnar route, so that the share of
// queries that it does answer is reported, and required.
//
// Each difference is minimised and written as a reproducer. The tests' worlds are always the same, so that a change passes or fails by what
// it changes. What no world of theirs has shown is looked for by
//
//	make test-random QUERIES=200000
//
// which takes worlds of a new seed, and prints it: SEED=… repeats the run.
package differential
