// Package dial connects to databases so that a server that vanished without a word, with its node, is noticed within seconds: by itself
// TCP waits two minutes for an answer to a new connection, and longer for one to what was sent on an old one.
package dial
