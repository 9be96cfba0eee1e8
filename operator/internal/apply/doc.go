// Package apply brings objects into the API server by server-side apply.
//
// Invariants: all fields have one owner, [Owner]; an object that is as wanted is not written; an object that belongs to
// somebody else is not touched.
package apply
