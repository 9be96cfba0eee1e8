// Package rig sets up what benchmarks measure: a PostgreSQL, a columnar engine and a gateway of their own, as
// separate processes pinned apart, with the CPU time and memory of each.
//
// Invariant: Stop ends every process that Start began and removes its data, also after a failed start.
package rig
