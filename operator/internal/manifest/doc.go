// Package manifest builds the objects that a cluster consists of. Its functions are pure: what an object says depends on
// their arguments alone.
//
// Invariant: every pod meets the Pod Security Standard "restricted", and no Secret's content is in any other object.
package manifest
