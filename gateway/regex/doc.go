// Package regex rewrites PostgreSQL's regular expressions, and its patterns of SIMILAR TO, for the columnar engine's RE2.
//
// Invariant: what is rewritten matches the same texts in both, and, where parts of a text are asked for, the same parts. All else is refused.
//
// The two differ in the syntax of groups and of characters beyond ASCII, in which of several possible matches they take, and in the locale's classes. They agree
// that ^ and $ are the ends of the text, and that a newline is a character like others.
package regex
