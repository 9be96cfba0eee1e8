// Package arraytext converts PostgreSQL's arrays between its binary format and the text that its output function writes
// (array_out), which is what the replica has of them.
//
// Invariant: a text holds all of an array, its dimensions, their lower bounds and NULLs among them, and two arrays whose
// elements have the same texts have the same one.
package arraytext
