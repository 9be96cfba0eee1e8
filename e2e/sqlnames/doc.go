// Package sqlnames tells what in a statement PostgreSQL looks up in the search path. Statements that the gateway runs on a client's session
// must have nothing of it: the path is the client's, and so may be the operators and functions there.
//
// Invariant: a syntax that is looked up without a name, as the equality of IN and of CASE x WHEN, is found as well.
package sqlnames
