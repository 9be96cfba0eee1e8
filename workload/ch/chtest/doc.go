// Package chtest gives tests a loaded CH-benCHmark database.
//
// Invariant: each call returns a database of its own, with seed [Seed].
package chtest
