// Package operator is the root of the operator that runs HTAPClusters on Kubernetes: api/v1alpha1 is what users write,
// internal/cluster/plan.go what is done about it, manager what the program cli/freshet-operator runs.
package operator
