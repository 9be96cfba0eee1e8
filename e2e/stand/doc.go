// Package stand gives tests real servers: PostgreSQL and the columnar engine, each started for one test
// on data of its own and gone when the test ends. Where a test failed, the ends of their logs are shown.
//
// Invariant: nothing that a test started outlives it.
package stand
