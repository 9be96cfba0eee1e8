// Package pods proves the operator on running pods: on the bare cluster of e2e/cluster, or on any that a kubeconfig leads to and whose
// services can be reached from here.
package pods
