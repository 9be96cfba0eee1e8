// Package consistency holds TPC-C's consistency conditions (clause 3.3.2) as checks for package
// invariant.
//
// Invariant: every condition holds on every snapshot of a TPC-C database whose transactions are atomic;
// a condition that a torn snapshot cannot break proves nothing, so each one is tested with a planted violation.
package consistency
