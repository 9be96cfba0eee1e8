// Package operator measures the operator at scale: hundreds of HTAPClusters and a thousand nodes on a real API server.
//
// The operator is the real program, in a process of its own, with the permissions of the chart. Databases are a real PostgreSQL; nodes, the
// controller of StatefulSets, kubelets and units' gateways are played.
//
// Invariant: what the operator asked of the API server is counted from the API server's audit log, not from what the operator says.
package operator
