// Package scram carries a SCRAM-SHA-256 login through a gateway whose both sides are encrypted (RFC 5802, RFC 7677, and RFC 5929 for
// tls-server-end-point).
//
// SCRAM can bind a login to the TLS channel that it runs in, and PostgreSQL refuses a client that could bind and does not, which it takes
// for an attack. A gateway in the middle has two channels, so that messages cannot just be relayed. Here it is the server of one login,
// which a [Server] leads with what PostgreSQL stores of the password ([Keys]), and the client of another, which a [Client] leads with the key that
// the first one's proof reveals.
//
// Invariant: the gateway decides nothing. It never has the password, and a proof that is wrong for the client's login makes a proof that is
// wrong for PostgreSQL's, which refuses it in its own words.
package scram
