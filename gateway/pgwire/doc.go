// Package pgwire is the one SQL endpoint: it speaks PostgreSQL's protocol to
// clients, relays every session to a PostgreSQL backend of its own, and offers
// read-only statements to the analytical route.
//
// Invariant: whatever is not answered by [Analytics] reaches PostgreSQL, and
// comes back from it, byte for byte. A client authenticates to PostgreSQL
// itself, or by package scram; the package never sees a password, never invents a
// result and never retries a statement that may have had an effect.
package pgwire
