// Package diskfull tests that a replica whose disk is full never answers wrongly, loses nothing and goes on by itself
// when there is space again.
package diskfull
