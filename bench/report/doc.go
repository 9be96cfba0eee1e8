// Package report presents a benchmark's results: as text tables, as JSON and as one self-contained HTML page
// with charts.
//
// Invariant: every form carries the settings that the figures were measured with.
package report
