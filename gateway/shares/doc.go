// Package shares divides the columnar engine's CPU among tenants: weighted fair queueing by what their queries
// really consume, and limits on how much each may do.
//
// A tenant is a set of database roles. Each has a clock of its own, which runs by the CPU time of its queries divided by its
// shares; whoever's clock is furthest behind runs next. So tenants with 400, 200 and 100 shares that all want more than there is get CPU
// time in the ratio 4:2:1, and one that wants less leaves the rest to the others.
//
// A query that waits for its reader yields its slot, and takes it back when that reads on, though others may have it meanwhile: what has begun is
// not queued again.
//
// Invariants: while a slot is free, no query waits whose tenant is below its own limit; no limit is exceeded but by queries that yielded; every query
// that waits is run; a tenant that was idle has neither saved up credit nor debt that others did not pay for.
package shares
