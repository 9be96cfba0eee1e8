// Package faults kills (-9) the gateway, the columnar engine and PostgreSQL at random instants under full load, and
// demands that no snapshot ever breaks a promise of the workload, and that afterwards every table of the
// replica equals PostgreSQL's row for row.
package faults
