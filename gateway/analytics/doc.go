// Package analytics is the analytical route: it decides which statements run on
// the columnar replica, plans them, and runs them through the dispatcher.
//
// Invariant: an answer leaves this package only if the statement's translation
// is proven equal, the session's user may read every table, the tables are defined as the
// replica has them, and the snapshot is as fresh as the session asks. Whatever fails one of
// these goes to PostgreSQL, or to the client as an error where the session forbids that.
package analytics
