// Package platform runs PostgreSQL, the columnar engine and a gateway on one machine, as one platform
// in one state folder: in the foreground ([Run]) or behind a background supervisor ([Up], [Down], [Reset], [Inspect]).
//
// Invariant: at most one supervisor works on a state folder, and no server that it started is running
// once it has ended and the next command on that folder has returned.
package platform
