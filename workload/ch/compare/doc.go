// Package compare runs queries on PostgreSQL and through an endpoint on one and the same snapshot and
// compares the answers value for value.
//
// Invariant: both sides see exactly the same committed transactions. Writers are held off by table locks for the milliseconds in
// which PostgreSQL's snapshot and the endpoint's are taken; the queries run afterwards, beside the writers.
package compare
