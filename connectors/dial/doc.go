// Package dial connects to databases so that a server that vanished without a word, with its node, is noticed within seconds: by itself
// TCP waits two minutes for an answer to a new connection, and longer for one to what was sent on an old one.
//
// Where nobody may wait for a server that is there, but hangs, statements are bounded on this side, too.
package dial
