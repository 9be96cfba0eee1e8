// Package lack says what keeps something outside of Kubernetes from being used until a person acts.
//
// Invariant: a Lack holds no password and nothing that changes by itself, for it is written into a status.
package lack
