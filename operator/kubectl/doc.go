// Package kubectl is kubectl's plugin: what kubectl freshet can tell of HTAPClusters, and do with their endpoints.
//
// Invariants: it reads what the user may read and changes no object; an endpoint is spoken to over TLS, verified by the cluster's own
// authority, through a port that is forwarded to one ready unit; a password is on no command line.
package kubectl
