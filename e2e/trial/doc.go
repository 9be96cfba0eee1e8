// Package trial runs a platform under full load while faults happen to its processes, and demands what must hold
// whatever happens: no snapshot ever breaks a promise of the workloads, and afterwards every table of the
// replica equals PostgreSQL's row for row.
package trial
