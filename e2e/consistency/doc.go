// Package consistency checks on snapshots through the endpoint, while transactions run at full rate, what TPC-C and a
// bank promise of every committed state.
//
// Invariant: no snapshot that the endpoint gives out is torn.
package consistency
