// Package driver runs transactional and analytical clients of the CH-benCHmark side by side, together
// with consistency checks and comparisons of answers, and counts what they achieve.
//
// Invariant: what a report counts was finished between the end of the warm-up and the end of the run; a
// client that fails ends the run with its error, unless reconnecting is asked for, which is counted.
package driver
