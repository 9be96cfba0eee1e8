// Package cluster makes HTAPClusters real. Read [Reconciler.plan] first: it is the ordered list of what is done.
//
// Invariants: a cluster that is as its spec says, and whose units' phases do not change, causes no write to the API server;
// status always says what was seen for which generation; slots and publications are gone before the HTAPCluster is.
package cluster
