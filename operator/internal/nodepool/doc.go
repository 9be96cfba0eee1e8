// Package nodepool says of HTAPNodePools which nodes they have, what these offer, and what keeps pods off them.
//
// Invariant: a pool whose nodes do not change causes no write; what of a node is in use is not looked at.
package nodepool
