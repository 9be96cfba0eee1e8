// Package pki issues certificates for endpoints and for clients, signed by an authority of their own.
//
// Invariant: [Certificate.Due] is true long before a certificate expires, so that it is renewed while it is still good.
package pki
